import HeartwoodEngine

/// Advice that the tool adds to the messages of engine errors.
enum Advice {
  /// Returns the message for an error.
  ///
  /// For some kinds of errors, the method appends the command to run next. The engine's own message
  /// cannot name the command, because the engine is independent of this tool.
  static func sentence(for error: StorageError, _ invocation: Invocation) -> String {
    let sentence = error.description
    let path = invocation.path
    // Suggest a check only if the error names a page. An error without a page means that the store
    // cannot be opened, and therefore cannot be verified either.
    if error.kind == .corrupt, error.page != nil, invocation.command != .verify {
      return "\(sentence) Run 'heartwoodctl verify \(path)' to list all damage."
    }
    // Add no advice for `restore`, which has no store yet. The engine's message already names the
    // generations that the backup contains.
    if error.kind == .generationExpired, !path.isEmpty {
      return "\(sentence) Run 'heartwoodctl generations \(path)' to list the readable generations."
    }
    return sentence
  }
}
