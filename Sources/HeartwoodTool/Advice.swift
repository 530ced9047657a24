import HeartwoodEngine

/// The next command to type after an error of the engine.
enum Advice {
  /// Returns the error as a sentence, with the next step where the engine, which knows no commands,
  /// cannot name it.
  static func sentence(for error: StorageError, _ invocation: Invocation) -> String {
    let sentence = error.description
    let path = invocation.path
    if error.kind == .corrupt, invocation.command != .verify, !sentence.contains("backup") {
      return "\(sentence) Type heartwoodctl verify \(path) to list all damage."
    }
    if error.kind == .generationExpired {
      return "\(sentence) Type heartwoodctl generations \(path) to list the readable ones."
    }
    return sentence
  }
}
