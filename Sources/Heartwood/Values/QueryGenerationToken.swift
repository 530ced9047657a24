/// A generation of each store of a container, for contexts to read.
///
/// The token does not retain the generations. A context that is pinned to it retains them, and so
/// does a name given with ``PersistentContainer/keepGeneration(_:as:)``. The token can be sent to
/// another thread, written to a file, or given to another process that has the same stores open.
public struct QueryGenerationToken: Hashable, Codable, Sendable {
  /// The newest generation at the time of each read.
  public static let current = QueryGenerationToken()

  /// The generation of one store; `nil` for the newest generation, or if there is no store.
  private let generation: GenerationToken?
  /// The generations of the other stores, if there are any; `nil` for the newest generation.
  private let others: [GenerationToken]?

  private init() {
    generation = nil
    others = nil
  }

  /// Creates the token of one store's generation.
  init(generation: GenerationToken) {
    self.generation = generation
    others = nil
  }

  /// Creates the token of the generations of several stores, in any order.
  init(_ generations: [GenerationToken]) {
    // Sorted, so that tokens of the same generations are equal.
    let sorted =
      generations.count < 2
      ? generations : generations.sorted { $0.description < $1.description }
    generation = sorted.first
    others = sorted.count == 1 ? nil : Array(sorted.dropFirst())
  }

  /// Whether the token stands for the newest generation.
  var isCurrent: Bool { generation == nil && others == nil }

  /// The generations, one for each store.
  var generations: [GenerationToken] { (generation.map { [$0] } ?? []) + (others ?? []) }
}
