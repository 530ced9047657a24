import Foundation

/// A writer that records a transaction's changes in the history, as part of the same transaction.
///
/// The entries of a transaction are contiguous in the keyspace: a header, followed by the changes
/// in chunks. Each chunk is written when it is full, so even a large batch request needs memory for
/// only one chunk.
///
/// Exclusivity checks are disabled for `chunk` to save time, because it is accessed for every row.
/// This is safe, because only one thread uses it.
final class HistoryWriter {
  /// The author of the changes, and the name of the context that made them.
  struct Origin {
    var author: String?
    var contextName: String?
  }

  /// The number of bytes at which a chunk is considered full and is written.
  private static let chunkByteCount = 1 << 15

  private let transaction: WriteTransaction
  private let origin: Origin
  private var keyspace: KeyspaceWriter?
  private var sequence: Int64 = 0
  private var chunkCount: Int64 = 0
  @exclusivity(unchecked) private var chunk: [UInt8] = []

  init(_ transaction: WriteTransaction, _ origin: Origin) {
    self.transaction = transaction
    self.origin = origin
  }

  func inserted(_ number: ObjectNumber) throws {
    HistoryFormat.append(.insert, number, to: &chunk)
    try flushIfFull()
  }

  /// Records an update to an object.
  ///
  /// - Parameter properties: The changed properties' numbers in the store.
  func updated(_ number: ObjectNumber, _ properties: [UInt16]) throws {
    HistoryFormat.append(.update(properties), number, to: &chunk)
    try flushIfFull()
  }

  /// Records the deletion of an object.
  ///
  /// - Parameter tombstone: The number of each preserved property, with the property's value as
  ///   text.
  func deleted(_ number: ObjectNumber, _ tombstone: [(UInt16, String)]) throws {
    HistoryFormat.append(.delete(tombstone), number, to: &chunk)
    try flushIfFull()
  }

  private func flushIfFull() throws {
    if chunk.count >= Self.chunkByteCount { try flush() }
  }

  private func flush() throws {
    guard !chunk.isEmpty else { return }
    let keyspace = try opened()
    chunkCount += 1
    try keyspace.put(Key(sequence, chunkCount), chunk)
    chunk.removeAll(keepingCapacity: true)
  }

  private func opened() throws -> KeyspaceWriter {
    if let keyspace { return keyspace }
    let keyspace = try transaction.keyspace(HistoryFormat.keyspace)
    var bounds =
      try keyspace.withValue(HistoryFormat.boundsKey) { try HistoryBounds($0) } ?? HistoryBounds()
    sequence = bounds.next
    bounds.next += 1
    try keyspace.put(HistoryFormat.boundsKey, bounds.encoded)
    let header = HistoryHeader(
      timestamp: Date.now.timeIntervalSinceReferenceDate,
      processID: ProcessInfo.processInfo.processIdentifier, base: transaction.base,
      author: origin.author, contextName: origin.contextName)
    try keyspace.put(Key(sequence, 0 as Int64), header.encoded)
    self.keyspace = keyspace
    return keyspace
  }

  /// Writes the last chunk.
  ///
  /// If the transaction changed no objects, nothing is recorded in the history.
  func finish() throws { try flush() }
}
