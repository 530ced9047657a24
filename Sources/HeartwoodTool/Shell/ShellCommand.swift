import Foundation
import Heartwood
import HeartwoodEngine

/// The `shell` command, which reads commands from the terminal or a pipe and runs them on one
/// generation.
enum ShellCommand {
  static func run(_ invocation: Invocation, _ output: Output) throws -> ExitCode {
    try StoreAccess.withStore(invocation.path, for: .reading) { store in
      let shell = Shell(store, try StoreAccess.snapshot(of: store, invocation), invocation, output)
      return try shell.run()
    }
  }
}

/// A shell that runs commands on one generation of a store.
private final class Shell {
  private let store: Store
  /// A snapshot of the generation that the commands read.
  private var snapshot: Snapshot
  private let invocation: Invocation
  private let output: Output
  private var hasFailed = false
  private var names = ShellNames()

  init(_ store: Store, _ snapshot: Snapshot, _ invocation: Invocation, _ output: Output) {
    self.store = store
    self.snapshot = snapshot
    self.invocation = invocation
    self.output = output
  }

  /// Runs commands until the input ends.
  ///
  /// - Returns: `refused` if the input is not a terminal and a command failed, or `fine` otherwise.
  func run() throws -> ExitCode {
    readNames()
    guard isatty(0) == 1, isatty(1) == 1 else {
      while let line = readLine() { if try !perform(line) { break } }
      return hasFailed ? .refused : .fine
    }
    try output.line(
      "\(QuotedText.escaped(invocation.path)) at generation \(snapshot.generation.frame). "
        + "Type .help for help.")
    try output.flush()
    let history = ShellHistory()
    let editor = LineEditor(history: history.lines) { [names] in names.completions(of: $0) }
    while let line = editor.line(prompt: "\(snapshot.generation.frame)> ") {
      history.append(line)
      if try !perform(line) { break }
    }
    return .fine
  }

  private func readNames() {
    if let objects = try? StoredObjects(store, at: snapshot) {
      names = ShellNames(objects.entities)
    }
  }

  /// Runs one line of input as a command.
  ///
  /// - Returns: `false` if the line ends the shell, or `true` otherwise.
  private func perform(_ line: String) throws -> Bool {
    do {
      let words = try ShellWords.split(line)
      guard let first = words.first else { return true }
      switch first {
      case ".quit", ".exit", "quit", "exit": return false
      case ".help", "help":
        try output.line(words.count > 1 ? try helpText(words[1]) : Self.help)
      case "pin": try pin(words.dropFirst())
      case "advance": try move(to: store.snapshot())
      default: try perform(words)
      }
    } catch let failure as ToolFailure {
      try complain(failure.message)
    } catch let error as ObjectGraphError {
      try complain(error.message)
    } catch let error as StorageError {
      try complain(Advice.sentence(for: error, invocation))
    }
    try output.flush()
    return true
  }

  private func complain(_ message: String) throws {
    hasFailed = true
    if isatty(0) != 1 || isatty(1) != 1 { output.exitCodeIfClosed = .refused }
    try output.flush()
    let line = QuotedText.escaped(message) + "\n"
    try? FileHandle.standardError.write(contentsOf: Data(line.utf8))
  }

  private func perform(_ words: [String]) throws {
    guard let command = Command(rawValue: words[0]), command.isInShell else {
      let names =
        Command.allCases.filter(\.isInShell).map(\.rawValue) + ["pin", "advance", ".help"]
      let word = String(words[0].prefix(100))
      throw ToolFailure.usage(
        "There is no command named \(word) in the shell.\(NearestName.question(word, in: names)) "
          + "Type .help to list the commands.")
    }
    let arguments = [words[0], invocation.path] + words.dropFirst()
    guard case .run(var request) = try CommandLineRequest(arguments) else {
      return try output.line(HelpText.text(for: command))
    }
    if command.flags.contains(.at) { request.pinnedGeneration = snapshot.generation }
    _ = try Tool.run(request, output)
  }

  private func pin(_ words: ArraySlice<String>) throws {
    if let text = words.first {
      try move(to: StoreAccess.snapshot(of: store, at: text, invocation))
    } else {
      try output.line("generation \(snapshot.generation.frame)")
    }
  }

  private func move(to snapshot: Snapshot) throws {
    self.snapshot = snapshot
    readNames()
    try output.line("generation \(snapshot.generation.frame)")
  }

  private func helpText(_ word: String) throws -> String {
    guard let command = Command(rawValue: word), command.isInShell else { return Self.help }
    return HelpText.text(for: command)
  }

  private static let help = """
    entities                        show the model
    query ENTITY ['CONDITION']      show objects; see .help query
    object ID                       show an object
    history, diff FROM [TO]         show changes
    keys, dump, generations, info   show keys and generations
    pin [GENERATION|NAME|TIME]      read another generation, or show the current one
    advance                         read the newest generation
    .help [COMMAND]                 show this text, or the help of a command
    .quit                           end the shell

    All commands read the pinned generation, even while other programs write.
    """
}

extension Command {
  /// A Boolean value that indicates whether the command is available in the shell.
  ///
  /// A command that is available in the shell must not change the store, and must end on its own.
  var isInShell: Bool {
    switch self {
    case .entities, .query, .object, .history, .diff, .info, .keys, .dump, .stat, .generations:
      true
    default: false
    }
  }
}
