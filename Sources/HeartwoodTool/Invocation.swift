import HeartwoodEngine

/// The request that a command line makes.
enum CommandLineRequest {
  case version
  case help
  case helpOn(Command)
  case run(Invocation)

  /// Parses the arguments after the program's name.
  init(_ arguments: [String]) throws(ToolFailure) {
    guard let word = arguments.first else {
      throw .usage("A command is missing. Run heartwoodctl --help to list the commands.")
    }
    switch word {
    case Flag.version.rawValue: self = .version
    case Flag.help.rawValue, "-h", "help":
      guard arguments.count > 1 else {
        self = .help
        return
      }
      self = .helpOn(try Self.command(arguments[1]))
    default:
      let command = try Self.command(word)
      let rest = arguments.dropFirst()
      if rest.prefix(while: { $0 != "--" }).contains(where: { $0 == "--help" || $0 == "-h" }) {
        self = .helpOn(command)
      } else {
        self = .run(try Invocation(command, rest))
      }
    }
  }

  private static func command(_ word: String) throws(ToolFailure) -> Command {
    if let command = Command(rawValue: word) { return command }
    let question = NearestName.question(word, in: Command.allCases.map(\.rawValue))
    throw .usage(
      "There is no command \(word).\(question) Run heartwoodctl --help to list the commands.")
  }
}

/// A command with all its arguments.
struct Invocation {
  let command: Command
  /// The directory of the store.
  private(set) var path = ""
  /// The operand after the path, if the command takes one.
  private(set) var word: String?
  private(set) var from: Key?
  private(set) var limit: Int?
  private(set) var isFull = false
  private(set) var generation: Generation?
  private(set) var generationName: String?
  private(set) var svgPath: String?
  private(set) var wantsJSON = false

  /// Parses the arguments of a command.
  ///
  /// `--flag value` and `--flag=value` are equivalent; arguments after `--` are never flags.
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
    if generation != nil, generationName != nil {
      throw .usage("--at and --named both select a generation. Use only one of them.")
    }
    if from != nil, word == nil {
      throw .usage("--from needs a keyspace. \(HelpText.usageSentence(command))")
    }
  }

  /// The operand after the path, for a command that requires such an operand.
  var requiredOperand: String {
    guard let word else {
      preconditionFailure(
        "The command \(command.rawValue) takes no such operand.")
    }
    return word
  }

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
        throw .usage("\(name) takes no value. Use \(name) alone.")
      }
      value = nil
    } else {
      value = parts.count == 2 ? String(parts[1]) : remaining.popFirst()
      guard value != nil else { throw .usage("\(name) needs a value: \(flag.usage).") }
    }
    try set(flag, value ?? "")
  }

  private mutating func set(_ flag: Flag, _ value: String) throws(ToolFailure) {
    switch flag {
    case .from: from = try KeyNotation.key(value)
    case .limit:
      guard let count = Int(value), count >= 0 else {
        throw Self.refused(flag, value, "a number of entries, such as 20")
      }
      limit = count
    case .at:
      guard let frame = UInt64(value) else {
        throw Self.refused(
          flag, value, "the number of a generation from heartwoodctl generations")
      }
      generation = Generation(frame: frame)
    case .named: generationName = value
    case .svg: svgPath = value
    case .full: isFull = true
    case .json: wantsJSON = true
    case .help, .version: break
    }
  }

  private static func refused(_ flag: Flag, _ value: String, _ wanted: String) -> ToolFailure {
    .usage("\(flag.rawValue) \(value) is invalid: use \(wanted).")
  }

  private mutating func setOperands(_ words: [String]) throws(ToolFailure) {
    let wanted = command.operands
    if let missing = wanted.dropFirst(words.count).first(where: \.isRequired) {
      throw .usage("\(missing.rawValue) is missing. \(HelpText.usageSentence(command))")
    }
    guard words.count <= wanted.count else {
      throw .usage(
        "Unexpected argument \(words[wanted.count]). "
          + HelpText.usageSentence(command))
    }
    for (operand, word) in zip(wanted, words) where word.isEmpty {
      throw .usage("\(operand.rawValue) is empty. \(HelpText.usageSentence(command))")
    }
    path = words[0]
    word = words.dropFirst().first
  }
}
