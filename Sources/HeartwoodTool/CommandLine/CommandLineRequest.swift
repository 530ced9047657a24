import HeartwoodEngine

/// A parsed command line.
enum CommandLineRequest {
  case version
  case help
  case helpOn(Command)
  case run(Invocation)

  /// Creates a request from the arguments that follow the program's name.
  init(_ arguments: [String]) throws(ToolFailure) {
    guard let word = arguments.first else {
      throw .usage("No command specified. Run 'heartwoodctl --help' to list the commands.")
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
      "There is no command named \(word).\(question) Run 'heartwoodctl --help' to list the "
        + "commands.")
  }
}
