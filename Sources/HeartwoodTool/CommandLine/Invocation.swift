import Foundation
import HeartwoodEngine

/// A command with all its arguments.
struct Invocation {
  let command: Command
  private var operands: [Operand: String] = [:]
  private var values: [Flag: String] = [:]
  /// The assignments to properties, in the order of the command line.
  private(set) var assignments: [String] = []
  private(set) var from: Key?
  private(set) var limit: Int?
  private(set) var offset = 0
  /// The generation that the shell has pinned, which is read unless an option selects another one.
  var pinnedGeneration: Generation?

  /// Creates an invocation from a command's arguments.
  ///
  /// `--flag value` and `--flag=value` are equivalent. Arguments after `--` are never flags.
  init(_ command: Command, _ arguments: ArraySlice<String>) throws(ToolFailure) {
    self.command = command
    var remaining = arguments
    var words: [String] = []
    var hasFlags = true
    while let argument = remaining.popFirst() {
      if hasFlags, argument == "--" {
        hasFlags = false
      } else if hasFlags, argument.hasPrefix("-"), argument != "-" {
        try read(argument, &remaining)
      } else {
        words.append(argument)
      }
    }
    try setOperands(words)
    if let missing = command.requiredFlags.first(where: { !has($0) }) {
      throw .usage("Missing option \(missing.rawValue). \(HelpText.usageSentence(command))")
    }
    try exclude(.at, .named, "both select a generation")
    let formats = [Flag.json, .jsonLines, .csv, .markdown].filter(has)
    if formats.count > 1 { try exclude(formats[0], formats[1], "both select a format") }
    for other in [Flag.count, .jsonLines, .csv, .markdown] {
      try exclude(.explain, other, "select different results")
      if other != .count { try exclude(.count, other, "select different results") }
    }
    if from != nil, self[.keyspace] == nil {
      throw .usage("--from requires a keyspace. \(HelpText.usageSentence(command))")
    }
  }

  private func exclude(
    _ first: Flag, _ second: Flag, _ reason: String
  ) throws(ToolFailure) {
    guard has(first), has(second) else { return }
    throw .usage(
      "\(first.rawValue) and \(second.rawValue) \(reason). Use only one of them.")
  }

  // MARK: Arguments

  /// The directory of the store.
  var path: String { operands[.path] ?? "" }

  /// Returns an operand, or `nil` if it is not on the command line.
  subscript(operand: Operand) -> String? { operands[operand] }

  /// Returns an operand required by the command.
  func required(_ operand: Operand) -> String {
    guard let word = operands[operand] else {
      preconditionFailure("The command \(command.rawValue) takes no \(operand.rawValue).")
    }
    return word
  }

  /// Returns the value of an option, or `nil` if the option is not on the command line.
  subscript(flag: Flag) -> String? { values[flag] }

  /// Returns whether the command line contains an option.
  func has(_ flag: Flag) -> Bool { values[flag] != nil }

  /// Returns the elements of an option's comma-separated list.
  func list(_ flag: Flag) -> [String]? {
    values[flag].map { $0.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) } }
  }

  var wantsJSON: Bool { has(.json) }

  // MARK: Parsing

  private mutating func read(
    _ argument: String, _ remaining: inout ArraySlice<String>
  ) throws(ToolFailure) {
    let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    let name = String(parts[0])
    guard let flag = Flag(rawValue: name), command.flags.contains(flag) else {
      let known = (command.flags + [.help]).map(\.rawValue)
      throw .usage(
        "\(command.rawValue) has no option \(name).\(NearestName.question(name, in: known)) The "
          + "options of this command are: \(known.joined(separator: ", ")).")
    }
    let value: String?
    if flag.placeholder == nil {
      guard parts.count == 1 else {
        throw .usage("\(name) does not accept a value. Remove the value.")
      }
      value = nil
    } else {
      value = parts.count == 2 ? String(parts[1]) : remaining.popFirst()
      guard value?.isEmpty == false else {
        throw .usage("\(name) requires a value. Use \(flag.usage).")
      }
    }
    values[flag] = value ?? ""
    switch flag {
    case .from: from = try KeyNotation.key(value ?? "")
    case .limit: limit = try Self.count(flag, value ?? "")
    case .offset: offset = try Self.count(flag, value ?? "")
    default: break
    }
  }

  private static func count(_ flag: Flag, _ value: String) throws(ToolFailure) -> Int {
    guard let count = Int(value), count >= 0 else {
      throw .usage("\(flag.rawValue) \(value) is invalid. Use a number, such as 20.")
    }
    return count
  }

  private mutating func setOperands(_ words: [String]) throws(ToolFailure) {
    let wanted = command.operands
    if let missing = wanted.dropFirst(words.count).first(where: command.requires) {
      throw .usage("Missing argument \(missing.rawValue). \(HelpText.usageSentence(command))")
    }
    if wanted.last == .assignment { assignments = Array(words.dropFirst(wanted.count - 1)) }
    guard words.count <= wanted.count || wanted.last == .assignment else {
      throw .usage(
        "Unexpected argument \(words[wanted.count]). " + HelpText.usageSentence(command))
    }
    for (operand, word) in zip(wanted, words) {
      guard !word.isEmpty else {
        throw .usage("Argument \(operand.rawValue) is empty. \(HelpText.usageSentence(command))")
      }
      operands[operand] = word
    }
  }
}
