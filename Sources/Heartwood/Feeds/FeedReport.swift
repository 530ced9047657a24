import Foundation

/// The result of applying events.
public struct FeedReport: Sendable {
  /// The number of events that were applied.
  public internal(set) var appliedCount = 0
  /// The number of events that had already been applied.
  public internal(set) var repeatedCount = 0
  /// The position reached by the applied events in the source stores' histories, or `nil` if no
  /// transaction is complete.
  public var token: PersistentHistoryToken? { PersistentHistoryToken(positions) }

  /// For each store, the position after the last transaction that was completely applied.
  private var positions: [UUID: HistoryPosition] = [:]

  package init() {}

  /// Records that all events up to a position have been applied.
  mutating func complete(_ position: HistoryPosition, of store: UUID) {
    positions.merge([store: position], uniquingKeysWith: Self.later)
  }

  private static func later(_ one: HistoryPosition, _ other: HistoryPosition) -> HistoryPosition {
    one.sequence < other.sequence ? other : one
  }

  /// Adds the result of applying further events.
  package static func += (total: inout FeedReport, part: FeedReport) {
    total.appliedCount += part.appliedCount
    total.repeatedCount += part.repeatedCount
    total.positions.merge(part.positions, uniquingKeysWith: later)
  }
}
