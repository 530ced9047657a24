/// An engine for the workloads with byte keys: Heartwood, or a peer with which it is compared.
protocol EntryEngine: Sendable {
  /// The name of the engine, as shown in tables and in JSON.
  var name: String { get }
  /// The maximum number of puts in a transaction, which is lower for an engine that keeps a
  /// transaction in memory.
  var mostPutsPerTransaction: Int { get }

  /// Creates an empty store in a directory that does not exist yet.
  func makeStore(in directory: String, valueByteCount: Int) throws -> any EntryStore
}

extension EntryEngine {
  var mostPutsPerTransaction: Int { .max }
}

/// A store that maps byte strings to byte strings.
///
/// Any number of threads may use a store. Each reader is used by only one thread.
protocol EntryStore: AnyObject, Sendable {
  /// Prepares for transactions with the given durability. There must be no readers.
  func prepare(isDurable: Bool) throws
  /// Runs a transaction. The transaction is synced to disk only if `isDurable` is true.
  func write(isDurable: Bool, _ body: (any EntryWriter) throws -> Void) throws
  /// Inserts or replaces one entry in a separate transaction.
  func put(_ key: [UInt8], _ value: RawSpan, isDurable: Bool) throws
  /// Creates a reader. If `isPinned` is true, all its calls read the state at the time of its
  /// creation. Otherwise, each call reads the newest state.
  func reader(isPinned: Bool) throws -> any EntryReader
  /// The number of checkpoints so far, or 0 if the engine does not run them in the background.
  var checkpointCount: Int { get }
  /// Makes the files as small as possible. There must be no readers.
  func compact() throws
  /// Checks that the store is intact if the engine supports this check, and then closes the store.
  func finish() throws
}

extension EntryStore {
  func prepare(isDurable: Bool) throws {}
  var checkpointCount: Int { 0 }
}

/// A writer that makes changes in a transaction.
protocol EntryWriter {
  /// Inserts or replaces an entry.
  func put(_ key: [UInt8], _ value: RawSpan) throws
  func remove(_ key: [UInt8]) throws
}

/// A reader of a store's entries, for use on one thread.
protocol EntryReader: AnyObject, Sendable {
  /// Calls `body` with the value of a key, and returns whether the key exists.
  func withValue(_ key: [UInt8], _ body: (RawSpan) throws -> Void) throws -> Bool
  /// Calls `body` with up to `count` values in key order, beginning at the first key that is at
  /// least `key`.
  func forEach(from key: [UInt8], count: Int, _ body: (RawSpan) throws -> Void) throws
}
