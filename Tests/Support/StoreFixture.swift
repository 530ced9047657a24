package import HeartwoodEngine
package import Testing

/// A location for a store that `run` opens, passes to a closure, verifies and closes.
///
/// Verification must report no findings.
package struct StoreFixture: Sendable {
  package let fileSystem: any FileSystem
  package let path: String
  package var options: StoreOptions
  /// The directory on disk, removed when the fixture is released, or `nil` if the store is in
  /// memory.
  private let directory: ScratchDirectory?

  private init(
    _ fileSystem: any FileSystem, path: String, options: StoreOptions, directory: ScratchDirectory?
  ) {
    self.fileSystem = fileSystem
    self.path = path
    self.options = options
    self.directory = directory
  }

  /// Creates a location in the machine's file system.
  package static func onDisk(_ options: StoreOptions = StoreOptions()) throws -> StoreFixture {
    let directory = try ScratchDirectory()
    return StoreFixture(
      PosixFileSystem(), path: directory.path(of: "store"), options: options, directory: directory)
  }

  /// Creates a location in an existing directory of the machine's file system.
  package static func onDisk(at path: String, _ options: StoreOptions) -> StoreFixture {
    StoreFixture(PosixFileSystem(), path: path, options: options, directory: nil)
  }

  /// Creates a location in memory.
  ///
  /// For this location, `write` performs maintenance itself, so that a test behaves the same every
  /// time.
  package static func inMemory(_ options: StoreOptions = StoreOptions()) -> StoreFixture {
    on(MemoryFileSystem(), options)
  }

  /// Creates a location in the given file system, which keeps its files in memory.
  package static func on(
    _ fileSystem: any FileSystem, _ options: StoreOptions = StoreOptions()
  ) -> StoreFixture {
    var options = options
    options.access = .buffered
    options.maintenance = .inline
    return StoreFixture(fileSystem, path: "/store", options: options, directory: nil)
  }

  /// Returns the same location, accessed through another file system.
  package func with(_ fileSystem: any FileSystem) -> StoreFixture {
    StoreFixture(fileSystem, path: path, options: options, directory: directory)
  }

  /// Opens the store without verifying or closing it.
  package func open() throws(StorageError) -> Store {
    try Store(at: path, options: options, fileSystem: fileSystem)
  }

  /// Opens the store, runs `body`, verifies the complete store and closes it.
  @discardableResult
  package func run<R>(
    _ location: SourceLocation = #_sourceLocation, _ body: (Store) throws -> R
  ) throws -> R {
    let store = try open()
    let result = try body(store)
    try Self.expectSound(store, location)
    try store.close()
    return result
  }

  /// Expects that verification of the complete store reports no findings.
  package static func expectSound(
    _ store: Store, _ location: SourceLocation = #_sourceLocation
  ) throws {
    #expect(try store.verify().findings == [], sourceLocation: location)
  }

  // MARK: Files

  package func path(of name: String) -> String { path + "/" + name }

  /// Returns the sorted names of the files in the store's directory.
  package func names() throws(StorageError) -> [String] {
    try (fileSystem.list(path) ?? []).sorted()
  }

  /// Returns the shared counters, mapped through a separate descriptor of their file.
  package func counters() throws -> SharedCounters {
    let file = try #require(try fileSystem.open(path(of: "counters"), .write))
    return SharedCounters(try file.mapShared(byteCount: CountersLayout.byteCount))
  }

  package func bytes(of name: String) throws -> [UInt8] {
    try #require(try fileSystem.open(path(of: name), .read)).allBytes()
  }

  /// Returns the bytes of every file of the store, keyed by name.
  package func allBytes() throws -> [String: [UInt8]] {
    var result: [String: [UInt8]] = [:]
    for name in try names() { result[name] = try bytes(of: name) }
    return result
  }

  /// Replaces the bytes of a file of the store, creating the store's directory if it is missing.
  package func write(_ bytes: [UInt8], to name: String) throws {
    try fileSystem.createDirectory(path)
    let file = try #require(try fileSystem.open(path(of: name), .create))
    try file.setByteCount(0)
    if !bytes.isEmpty { try file.write(bytes, at: 0) }
  }
}
