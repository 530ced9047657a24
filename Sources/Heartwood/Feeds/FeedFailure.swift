/// An error that prevents events from being applied.
struct FeedFailure: Error {
  let error: ObjectGraphError
  /// The source of the event named in the error, or `nil` if the error names no event.
  let source: String?

  init(
    _ kind: ObjectGraphError.Kind, _ source: String?, _ message: String,
    _ underlying: ObjectGraphError? = nil
  ) {
    self.source = source
    error = ObjectGraphError(
      kind, message, objectID: underlying?.objectID, underlyingError: underlying)
  }

  /// A Boolean value that indicates whether later events may resolve the error.
  var mayBeResolved: Bool { error.kind == .constraintConflict || error.kind == .deniedDelete }

  /// The error to report if the feed ends within a generation.
  var ofIncompleteFeed: FeedFailure {
    FeedFailure(
      error.kind, source,
      error.message
        + " The feed ends in the middle of a generation. Later changes in that generation may "
        + "resolve the error. Apply the feed again, starting after the last acknowledged "
        + "transaction.", error)
  }
}

extension FeedElement {
  /// Returns an error that names this event.
  func failure(
    _ kind: ObjectGraphError.Kind, _ reason: String, _ underlying: ObjectGraphError? = nil
  ) -> FeedFailure {
    FeedFailure(kind, source, "\(name) cannot be applied: \(reason)", underlying)
  }
}
