/// A set of generations that contexts can read, one for each store of a container.
///
/// The token itself does not retain the generations. The generations are retained by contexts that
/// are pinned to the token, and by names assigned with
/// ``PersistentContainer/keepGeneration(_:as:)``. The token can be sent to another thread, written
/// to a file, or passed to another process that has the same stores open.
public struct QueryGenerationToken: Hashable, Codable, Sendable {
  /// A token that represents the newest generation at the time of each read.
  public static let current = QueryGenerationToken()

  /// The generation of one store.
  ///
  /// The property is `nil` if the token represents the newest generation, or if there is no store.
  private let generation: GenerationToken?
  /// The generations of the other stores.
  ///
  /// The property is `nil` if the token represents the newest generation, or if there is only one
  /// store.
  private let others: [GenerationToken]?

  private init() {
    generation = nil
    others = nil
  }

  /// Creates the token for a generation of one store.
  init(generation: GenerationToken) {
    self.generation = generation
    others = nil
  }

  /// Creates the token for generations of several stores, given in any order.
  init(_ generations: [GenerationToken]) {
    // Sort the generations, so that tokens for the same generations are equal.
    let sorted =
      generations.count < 2
      ? generations : generations.sorted { $0.description < $1.description }
    generation = sorted.first
    others = sorted.count == 1 ? nil : Array(sorted.dropFirst())
  }

  /// A Boolean value that indicates whether the token is ``current``.
  var isCurrent: Bool { generation == nil && others == nil }

  /// The generations, one for each store, or an empty array for ``current``.
  var generations: [GenerationToken] { (generation.map { [$0] } ?? []) + (others ?? []) }
}
