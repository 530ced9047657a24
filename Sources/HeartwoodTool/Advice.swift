import HeartwoodEngine

/// Advice on the command to run next, after an engine error.
enum Advice {
  /// Returns an error as a sentence.
  ///
  /// For some kinds it adds the command to run next, because the engine does not know the commands
  /// of this tool.
  static func sentence(for error: StorageError, _ invocation: Invocation) -> String {
    let sentence = error.description
    let path = invocation.path
    if error.kind == .corrupt, invocation.command != .verify, !sentence.contains("backup") {
      return "\(sentence) Run heartwoodctl verify \(path) to list all damage."
    }
    if error.kind == .generationExpired {
      return "\(sentence) Run heartwoodctl generations \(path) to list the readable generations."
    }
    return sentence
  }
}
