/// How the program ends, as a number for scripts.
enum ExitCode: Int32 {
  case fine = 0
  /// Something is wrong with the store, or it cannot be done.
  case refused = 1
  /// The command line makes no sense.
  case usage = 2
}

/// Why a command ends early, as a sentence for the person at the terminal.
struct ToolFailure: Error {
  let message: String
  let exitCode: ExitCode

  private init(_ message: String, _ exitCode: ExitCode) {
    self.message = message
    self.exitCode = exitCode
  }

  /// What was typed makes no sense.
  static func usage(_ message: String) -> ToolFailure { ToolFailure(message, .usage) }

  /// What was asked for cannot be done.
  static func refused(_ message: String) -> ToolFailure { ToolFailure(message, .refused) }
}
