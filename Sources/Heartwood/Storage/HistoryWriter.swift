import Foundation

/// Records the changes of a transaction in the history, within the same transaction.
///
/// The entries of a transaction are contiguous in the keyspace: its header, followed by its changes
/// in chunks. A batch request of any size needs memory for only one chunk.
final class HistoryWriter {
  /// The author and the context of the changes.
  struct Origin {
    var author: String?
    var contextName: String?
  }

  /// The size in bytes at which a chunk is written.
  private static let chunkByteCount = 1 << 15

  private let transaction: WriteTransaction
  private let origin: Origin
  private var keyspace: KeyspaceWriter?
  private var sequence: Int64 = 0
  private var chunkCount: Int64 = 0
  private var chunk: [UInt8] = []

  init(_ transaction: WriteTransaction, _ origin: Origin) {
    self.transaction = transaction
    self.origin = origin
  }

  func inserted(_ number: ObjectNumber) throws {
    HistoryFormat.append(.insert, number, to: &chunk)
    try flushIfFull()
  }

  /// - Parameter properties: The numbers of the properties in the store.
  func updated(_ number: ObjectNumber, _ properties: [UInt16]) throws {
    HistoryFormat.append(.update(properties), number, to: &chunk)
    try flushIfFull()
  }

  /// - Parameter tombstone: The numbers of the preserved properties, and their values as text.
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

  /// Writes the last chunk; a transaction that changed no object records nothing.
  func finish() throws { try flush() }
}
