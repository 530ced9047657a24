package import HeartwoodEngine
package import Testing

/// The state that a backup must restore.
package struct BackedUpState {
  private let token: GenerationToken
  private let pageCount: PageNumber
  /// The hash of each page in use.
  private let pages: [PageNumber: UInt64]

  package init(_ snapshot: Snapshot) throws {
    token = snapshot.token
    let view = snapshot.state.view
    pageCount = view.pageCount
    let used = UsedPages(view: view, geometry: snapshot.state.files.geometry)
    var pages: [PageNumber: UInt64] = [:]
    var next = try used.next(from: 0)
    while let page = next {
      let reference = try view.page(page)
      pages[page] = XXH64.hash(reference.bytes, seed: 0)
      view.release(reference)
      next = try used.next(from: page + 1)
    }
    self.pages = pages
    withExtendedLifetime(snapshot) {}
  }

  package var generation: Generation { token.generation }

  /// Expects that a snapshot has this state, page for page.
  package func expectSamePages(
    _ snapshot: Snapshot, _ label: String, _ location: SourceLocation = #_sourceLocation
  ) throws {
    let found = try BackedUpState(snapshot)
    #expect(found.pageCount == pageCount, "\(label)", sourceLocation: location)
    #expect(found.pages == pages, "\(label)", sourceLocation: location)
  }

  /// Expects that a store contains this state, page for page, and is writable.
  package func expectEqual(
    at path: String, on fileSystem: any FileSystem, _ label: String = "",
    _ location: SourceLocation = #_sourceLocation
  ) throws {
    var options = StoreOptions()
    options.access = .buffered
    options.maintenance = .inline
    options.isReadOnly = true
    let reader = try Store(at: path, options: options, fileSystem: fileSystem)
    try expectSamePages(reader.snapshot(at: token), label, location)
    #expect(
      try reader.snapshot().generation == generation, "\(label)", sourceLocation: location)
    try StoreFixture.expectSound(reader, location)
    try reader.close()
    options.isReadOnly = false
    let store = try Store(at: path, options: options, fileSystem: fileSystem)
    // The first writer has begun a new lineage with an empty commit.
    #expect(
      try store.snapshot().generation > generation, "\(label)", sourceLocation: location)
    try expectSamePages(store.snapshot(), label, location)
    try store.write { try $0.keyspace("restored").put(1, [1]) }
    try StoreFixture.expectSound(store, location)
    try store.close()
  }
}
