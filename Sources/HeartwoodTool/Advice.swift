import HeartwoodEngine

/// What to type next after an error of the engine.
enum Advice {
  /// The error as a sentence, with the next step where the engine, which knows no commands, could
  /// not name it.
  static func sentence(for error: StorageError, _ invocation: Invocation) -> String {
    let sentence = error.description
    let path = invocation.path
    if error.kind == .corrupt, invocation.command != .verify, !sentence.contains("backup") {
      return "\(sentence) Type heartwoodctl verify \(path) to see all that is damaged."
    }
    if error.kind == .generationExpired {
      return "\(sentence) Type heartwoodctl generations \(path) to see which can be read."
    }
    return sentence
  }
}
