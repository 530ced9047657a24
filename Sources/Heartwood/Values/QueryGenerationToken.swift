/// Names a generation of each store of a container, for contexts to read.
///
/// It does not keep them: a context that is pinned to it does, and so does a name given with
/// ``PersistentContainer/keepGeneration(_:as:)``. It can be sent to another thread, written to a
/// file, or given to another process that has opened the same stores.
public struct QueryGenerationToken: Hashable, Codable, Sendable {
  /// The newest generation, whichever it is when the context reads next.
  public static let current = QueryGenerationToken()

  /// The generation of a store; `nil` for the newest of all, or if there is no store.
  private let generation: GenerationToken?
  /// Those of the other stores, if there are any; none for the newest of all.
  private let others: [GenerationToken]?

  private init() {
    generation = nil
    others = nil
  }

  /// The token of one store's generation.
  init(generation: GenerationToken) {
    self.generation = generation
    others = nil
  }

  /// The token of the generations of some stores, which come in no order.
  init(_ generations: [GenerationToken]) {
    // Equal ones look the same.
    let sorted =
      generations.count < 2
      ? generations : generations.sorted { $0.description < $1.description }
    generation = sorted.first
    others = sorted.count == 1 ? nil : Array(sorted.dropFirst())
  }

  /// Whether it names no generation, but the newest.
  var isCurrent: Bool { generation == nil && others == nil }

  /// The generations, one of each store.
  var generations: [GenerationToken] { (generation.map { [$0] } ?? []) + (others ?? []) }
}
