package import HeartwoodEngine

/// The public calls on a store that a program may attempt inside `write`, named as in the table of
/// `Docs/Reference/Engine.md`.
package enum CallInsideWrite: String, CaseIterable, Codable, Sendable {
  case write, checkpoint, compact, verify, close, suspend, resume, read
  case newestSnapshot = "snapshot()"
  case snapshotAtGeneration = "snapshot(at:) of a generation"
  case snapshotAtToken = "snapshot(at:) of a token"
  case keep, release, namedGenerations, changes, commits, copy, liveGenerations, holders, pageUsage
  case statistics, recovery
  case readingSnapshot = "reading a snapshot"
  case endingSnapshot = "ending a snapshot"
  case opening = "opening the same store"
  case endingOpening = "ending another opening of it"
  case openingAnother = "opening another store"
  case writingToAnother = "writing to another store"

  package var isRefused: Bool {
    [.write, .checkpoint, .compact, .verify, .close, .suspend].contains(self)
  }

  /// The stores and snapshots that exist before the `write` in which the call is made.
  package struct Scene {
    package let store: Store
    /// A directory for files that the call creates.
    package let directory: String
    package let options: StoreOptions
    package var snapshot: Snapshot?
    package var opening: Store?
    package let another: Store

    /// Creates a store that has three generations: one named `kept`, one held by an open snapshot,
    /// and a newer one.
    package init(in directory: String, options: StoreOptions) throws {
      self.directory = directory
      self.options = options
      store = try Store(at: directory + "/store", options: options)
      another = try Store.inMemory()
      for byte: UInt8 in 1...3 {
        try store.write { try $0.keyspace("k").put(1, [byte]) }
        if byte == 1 { try store.keep(store.snapshot().generation, as: "kept") }
        if byte == 2 { snapshot = try store.snapshot() }
      }
      opening = try Store(at: directory + "/store", options: options)
    }
  }

  /// Makes the call.
  ///
  /// The caller must already be inside a `write` to the scene's store.
  ///
  /// - Returns: `true` if the call had its usual effect.
  package func isMade(in scene: inout Scene) throws -> Bool {
    let store = scene.store
    let newest = try store.snapshot()
    switch self {
    case .write: try store.write { _ in }
    case .checkpoint: try store.checkpoint()
    case .compact: _ = try store.compact()
    case .verify: _ = try store.verify()
    case .close: try store.close()
    case .suspend: try store.suspend()
    case .resume: try store.resume()
    case .read: return try store.read { try $0.keyspace("k")?.get(1) } == [3]
    case .newestSnapshot: return try newest.keyspace("k")?.get(1) == [3]
    case .snapshotAtGeneration:
      return try store.snapshot(at: newest.generation).keyspace("k")?.get(1) == [3]
    case .snapshotAtToken:
      return try store.snapshot(at: newest.token).keyspace("k")?.get(1) == [3]
    case .keep: try store.keep(newest.generation, as: "inside")
    case .release: try store.release("kept")
    case .namedGenerations: return try store.namedGenerations()["kept"] != nil
    case .changes: return try changes(scene) == 1
    case .commits: _ = store.commits()
    case .copy: try store.copy(newest, to: scene.directory + "/copy")
    case .liveGenerations: return try !store.liveGenerations().isEmpty
    case .holders: return try store.holders().contains { $0.isThisProcess }
    case .pageUsage: return try !store.pageUsage(of: newest).isEmpty
    case .statistics: return store.statistics.newestGeneration == newest.generation
    case .recovery: return store.recovery.discardedFrameCount == 0
    case .readingSnapshot: return try scene.snapshot?.keyspace("k")?.get(1) == [2]
    case .endingSnapshot: scene.snapshot = nil
    case .opening:
      let second = try Store(at: scene.directory + "/store", options: scene.options)
      return try second.snapshot().keyspace("k")?.get(1) == [3]
    case .endingOpening: scene.opening = nil
    case .openingAnother: try Store(at: scene.directory + "/other").close()
    case .writingToAnother: try scene.another.write { try $0.keyspace("k").put(1, [1]) }
    }
    return true
  }

  private func changes(_ scene: Scene) throws -> Int {
    guard let old = scene.snapshot else { return 0 }
    var count = 0
    try scene.store.changes(from: old, to: scene.store.snapshot()) { _ in count += 1 }
    return count
  }
}
