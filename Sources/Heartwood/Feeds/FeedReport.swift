import Foundation

/// The result of applying events.
public struct FeedReport: Sendable {
  /// The number of events that were applied.
  public internal(set) var appliedCount = 0
  /// The number of events that had been applied before.
  public internal(set) var repeatedCount = 0
  /// The position in the source stores' histories up to which all events have been applied, or
  /// `nil` if no transaction is complete.
  public var token: PersistentHistoryToken? { PersistentHistoryToken(positions) }

  /// The number of each store's last transaction whose events have all been applied, by UUID.
  private var positions: [UUID: Int64] = [:]

  package init() {}

  /// Records that all events of a transaction and of earlier ones have been applied.
  mutating func complete(_ transaction: Int64, of store: UUID) {
    positions[store] = max(transaction, positions[store] ?? 0)
  }

  /// Adds the result of applying further events.
  package static func += (total: inout FeedReport, part: FeedReport) {
    total.appliedCount += part.appliedCount
    total.repeatedCount += part.repeatedCount
    total.positions.merge(part.positions) { max($0, $1) }
  }
}
