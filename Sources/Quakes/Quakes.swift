import Foundation
import Heartwood

/// The program's entry point, which parses the command line and runs the command.
@main
enum Quakes {
  /// The types of all commands.
  ///
  /// To add a command, create a type that conforms to ``Command``, and add it to this list.
  static var commands: [any Command.Type] {
    [
      ImportCommand.self, ListCommand.self, SearchCommand.self, StatsCommand.self,
      WatchCommand.self, AtCommand.self, DiffCommand.self, UndoCommand.self, FollowCommand.self,
    ]
  }

  static func main() async {
    do {
      try await run(Arguments(CommandLine.arguments.dropFirst()))
    } catch {
      let commandError = error as? CommandError ?? .failure("\(error)")
      ProgressLine().clear()
      FileHandle.standardError.write(Data("quakes: \(commandError.sentence)\n".utf8))
      exit(commandError.exitCode)
    }
  }

  private static func run(_ typed: Arguments) async throws {
    var arguments = typed
    let wantsHelp = arguments.flag("--help") || arguments.flag("-h")
    if arguments.flag("--version") { return print("quakes \(Store.libraryVersion)") }
    let path = try arguments.value(of: "--store", "a directory, such as ~/quakes") {
      $0.isEmpty ? nil : $0
    }
    guard let word = arguments.operand() else {
      guard wantsHelp else {
        throw CommandError.usage("No command specified. Run 'quakes --help' to list the commands.")
      }
      return print(help)
    }
    guard let type = commands.first(where: { $0.name == word }) else {
      let names = commands.map { $0.name }.joined(separator: ", ")
      throw CommandError.usage("There is no command named \(word.visible). Use one of: \(names).")
    }
    if wantsHelp { return print(type.help + "\n\n" + commonHelp) }
    let command = try type.init(&arguments)
    try arguments.rejectRemaining(of: word)
    try await command.run(in: path.map { QuakeStore(path: $0) } ?? .usual)
  }

  private static var help: String {
    let rows = commands.map { "  " + $0.name.padded(to: 22) + $0.summary }
    return """
      quakes stores and searches the earthquakes reported by earthquake.usgs.gov.

      Usage: quakes COMMAND [options]

      \(rows.joined(separator: "\n"))

      \(commonHelp)

      Run 'quakes COMMAND --help' to show the options of a command.
      """
  }

  private static let commonHelp = """
      --store DIR           store the quakes in DIR (default: \(QuakeStore.usual.path))
      --help                show this text
      --version             show the version

    Exit codes: 0 success; 1 failure; 2 invalid usage.
    """
}

/// A command of the `quakes` program.
protocol Command {
  /// The name of the command on the command line.
  static var name: String { get }
  /// A short description of the command, for the list of commands.
  static var summary: String { get }
  /// The help text of the command, without the options that all commands have in common.
  static var help: String { get }

  /// Creates the command and consumes its arguments.
  init(_ arguments: inout Arguments) throws
  func run(in store: QuakeStore) async throws
}

/// An error that ends the program, with a message that says what to do.
struct CommandError: Error {
  let sentence: String
  let exitCode: Int32

  /// Creates the error for an invalid command line.
  static func usage(_ sentence: String) -> CommandError {
    CommandError(sentence: sentence, exitCode: 2)
  }
  /// Creates the error for a command that fails.
  static func failure(_ sentence: String) -> CommandError {
    CommandError(sentence: sentence, exitCode: 1)
  }
}
