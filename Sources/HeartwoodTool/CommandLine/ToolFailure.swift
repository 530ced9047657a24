/// The exit codes of the program.
enum ExitCode: Int32 {
  case fine = 0
  /// The store is damaged, or the command cannot be executed.
  case refused = 1
  /// The command line is invalid.
  case usage = 2
}

/// An error that ends a command, with a message for the user.
struct ToolFailure: Error {
  let message: String
  let exitCode: ExitCode

  private init(_ message: String, _ exitCode: ExitCode) {
    self.message = message
    self.exitCode = exitCode
  }

  /// Creates the error for an invalid command line.
  static func usage(_ message: String) -> ToolFailure { ToolFailure(message, .usage) }

  /// Creates the error for a command that cannot be executed.
  static func refused(_ message: String) -> ToolFailure { ToolFailure(message, .refused) }
}
