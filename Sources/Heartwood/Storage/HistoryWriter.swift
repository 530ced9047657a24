import Foundation

/// Writes down what a transaction changes, within that transaction.
///
/// The entries of a transaction follow each other in the keyspace: its header, then its changes in
/// pieces, so that a batch request of any size needs one piece of memory.
final class HistoryWriter {
  /// Who makes the changes.
  struct Origin {
    var author: String?
    var contextName: String?
  }

  /// A piece is written when it has grown to this many bytes.
  private static let pieceByteCount = 1 << 15

  private let transaction: WriteTransaction
  private let origin: Origin
  private var keyspace: KeyspaceWriter?
  private var sequence: Int64 = 0
  private var pieceCount: Int64 = 0
  private var piece: [UInt8] = []

  init(_ transaction: WriteTransaction, _ origin: Origin) {
    self.transaction = transaction
    self.origin = origin
  }

  func inserted(_ number: ObjectNumber) throws {
    HistoryFormat.append(.insert, number, to: &piece)
    try flushIfFull()
  }

  /// - Parameter properties: Their numbers in the store.
  func updated(_ number: ObjectNumber, _ properties: [UInt16]) throws {
    HistoryFormat.append(.update(properties), number, to: &piece)
    try flushIfFull()
  }

  /// - Parameter tombstone: The numbers and texts of what is preserved.
  func deleted(_ number: ObjectNumber, _ tombstone: [(UInt16, String)]) throws {
    HistoryFormat.append(.delete(tombstone), number, to: &piece)
    try flushIfFull()
  }

  private func flushIfFull() throws {
    if piece.count >= Self.pieceByteCount { try flush() }
  }

  private func flush() throws {
    guard !piece.isEmpty else { return }
    let keyspace = try opened()
    pieceCount += 1
    try keyspace.put(Key(sequence, pieceCount), piece)
    piece.removeAll(keepingCapacity: true)
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

  /// Writes what is left; a transaction that has changed no object leaves nothing.
  func finish() throws { try flush() }
}
