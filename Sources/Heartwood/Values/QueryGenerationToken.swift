/// Names a generation of a container's store, for contexts to read.
///
/// It does not keep the generation: a context that is pinned to it does, and so does a name given
/// with `Store.keep`. It can be sent to another thread, written to a file, or given to another
/// process that has opened the same store.
public struct QueryGenerationToken: Hashable, Codable, Sendable {
  /// The newest generation, whichever it is when the context reads next.
  public static let current = QueryGenerationToken(generation: nil)

  /// The generation of the store; `nil` for the newest.
  let generation: GenerationToken?
}
