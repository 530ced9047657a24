import Heartwood
import HeartwoodTestSupport
import Testing

/// A store on a simulated disk, which a test opens with one version of its model after another.
final class EvolvingStore {
  private(set) var disk: SimulatedDisk
  private var options = StoreOptions()

  init(_ disk: SimulatedDisk = SimulatedDisk()) {
    self.disk = disk
    options.access = .buffered
    options.maintenance = .inline
    options.segmentByteCount = 1 << 16
    // The limit is small, so that larger migrations write pages to the log before they commit.
    options.transactionMemoryByteCount = 1 << 16
  }

  /// Opens the store, runs `body` in a context, saves the context, and verifies the store.
  @discardableResult
  func open<Result>(
    _ schema: Schema, _ stages: [MigrationStage] = [],
    progress: (@Sendable (MigrationProgress) -> Void)? = nil,
    _ body: (ManagedObjectContext) throws -> Result
  ) throws -> Result {
    try withContainer(schema, stages, progress: progress) { container in
      let context = container.newContext()
      let result = try body(context)
      try context.save()
      withExtendedLifetime(context) {}
      return result
    }
  }

  func withContainer<Result>(
    _ schema: Schema, _ stages: [MigrationStage] = [],
    progress: (@Sendable (MigrationProgress) -> Void)? = nil,
    _ body: (PersistentContainer) throws -> Result
  ) throws -> Result {
    var all = ContainerOptions()
    all.stages = stages
    all.progress = progress
    let store = try Store(at: "/store", options: options, fileSystem: disk)
    // Close the store even if creating the container throws.
    defer { try? store.close() }
    let container = try PersistentContainer(store: store, schema: schema, options: all)
    let result = try body(container)
    let findings = try store.verify().findings
    #expect(findings == [])
    return result
  }

  /// Returns the error thrown when the store is opened with an incompatible schema.
  func refusal(
    _ schema: Schema, _ stages: [MigrationStage] = []
  ) throws -> ObjectGraphError {
    try #require(throws: ObjectGraphError.self) { try open(schema, stages) { _ in } }
  }

  /// Returns the names of the keyspaces whose names begin with one of the given prefixes.
  func keyspaces(_ words: String...) throws -> [String] {
    let store = try Store(at: "/store", options: options, fileSystem: disk)
    defer { try? store.close() }
    return try store.snapshot().keyspaceNames
      .filter { name in words.contains { name.hasPrefix($0) } }
  }

  /// Returns the number of entries in the keyspaces whose names begin with the given prefix.
  func entryCount(inKeyspaces prefix: String) throws -> Int {
    let store = try Store(at: "/store", options: options, fileSystem: disk)
    defer { try? store.close() }
    let snapshot = try store.snapshot()
    return try snapshot.keyspaceNames.filter { $0.hasPrefix(prefix) }
      .reduce(0) { $0 + (try snapshot.keyspace($1)?.count() ?? 0) }
  }
}

extension ManagedObjectContext {
  /// Returns all objects of a class.
  func all<M: ManagedObject>(_ type: M.Type = M.self) throws -> [M] { try fetch(FetchRequest<M>()) }

  /// Expects the objects that match a predicate format to have the given values of one attribute.
  ///
  /// The values are compared in ascending order.
  func expect<M: ManagedObject, V: Comparable & Sendable>(
    _ format: String, _ attribute: KeyPath<M, V>, _ expected: [V],
    _ location: SourceLocation = #_sourceLocation
  ) throws {
    var request = FetchRequest<M>()
    request.predicate = try QueryPredicate(format: format)
    let found = try fetch(request).map { $0[keyPath: attribute] }.sorted()
    #expect(found == expected, sourceLocation: location)
  }
}
