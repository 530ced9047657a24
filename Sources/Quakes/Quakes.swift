import Foundation
import Heartwood

/// The program: finds the command that was typed and runs it.
@main
enum Quakes {
  /// What the program can do: a new command is a file of its own and a place in this list.
  static var commands: [any Command.Type] {
    [
      ImportCommand.self, ListCommand.self, StatsCommand.self, WatchCommand.self, AtCommand.self,
      DiffCommand.self, UndoCommand.self, FollowCommand.self,
    ]
  }

  static func main() async {
    do {
      try await run(Arguments(CommandLine.arguments.dropFirst()))
    } catch {
      let complaint = error as? Complaint ?? .refused("\(error)")
      ProgressLine().clear()
      FileHandle.standardError.write(Data("quakes: \(complaint.sentence)\n".utf8))
      exit(complaint.exitCode)
    }
  }

  private static func run(_ typed: Arguments) async throws {
    var arguments = typed
    let wantsHelp = arguments.flag("--help") || arguments.flag("-h")
    let path = try arguments.value(of: "--store", "a folder, such as ~/quakes") {
      $0.isEmpty ? nil : $0
    }
    guard let word = arguments.operand() else {
      guard wantsHelp else {
        throw Complaint.usage("A command is missing. Type quakes --help to see them.")
      }
      return print(help)
    }
    guard let type = commands.first(where: { $0.name == word }) else {
      let names = commands.map { $0.name }.joined(separator: ", ")
      throw Complaint.usage("There is no command \(word.visible). Type one of: \(names).")
    }
    if wantsHelp { return print(type.help + "\n\n" + commonHelp) }
    let command = try type.init(&arguments)
    try arguments.requireNothingLeft(of: word)
    try await command.run(in: path.map { QuakeStore(path: $0) } ?? .usual)
  }

  private static var help: String {
    let rows = commands.map { "  " + $0.name.padded(to: 22) + $0.summary }
    return """
      quakes keeps the earthquakes of earthquake.usgs.gov, and finds them again.

      Usage: quakes COMMAND [options]

      \(rows.joined(separator: "\n"))

      \(commonHelp)

      quakes COMMAND --help says more about one command.
      """
  }

  private static let commonHelp = """
      --store DIR           keep the quakes in DIR (default: \(QuakeStore.usual.path))
      --help                show this text

    Exit codes: 0 fine; 1 it could not be done; 2 wrong usage.
    """
}

/// Something the program can do.
protocol Command {
  /// The word that is typed.
  static var name: String { get }
  /// What it does, in a few words.
  static var summary: String { get }
  /// What `--help` says, up to the options that all commands have.
  static var help: String { get }

  /// Takes what belongs to the command from the arguments.
  init(_ arguments: inout Arguments) throws
  func run(in store: QuakeStore) async throws
}

/// Why the program ends early, as a sentence that says what to do.
struct Complaint: Error {
  let sentence: String
  let exitCode: Int32

  /// What was typed makes no sense.
  static func usage(_ sentence: String) -> Complaint { Complaint(sentence: sentence, exitCode: 2) }
  /// What was asked for cannot be done.
  static func refused(_ sentence: String) -> Complaint {
    Complaint(sentence: sentence, exitCode: 1)
  }
}
