/// A sorter for index entries whose order is unknown because their keys were shortened.
///
/// A shortened key contains only a prefix of the encoded values. Entries with the same prefix are
/// adjacent, but not in order, so they are sorted by the values in their rows.
///
/// To save time, exclusivity checks are disabled for the variables that are accessed for every
/// index entry. This is safe, because only one thread uses a sorter.
final class EntryTies {
  private let search: RowSearch
  private let scope: QueryScope
  /// The common prefix of the pending entries.
  @exclusivity(unchecked) private var start: [UInt8] = []
  @exclusivity(unchecked) private var numbers: [ObjectNumber] = []

  init(search: RowSearch, scope: QueryScope) {
    self.search = search
    self.scope = scope
  }

  /// Adds an entry, and calls `body` with the entries whose order is now known.
  ///
  /// - Parameter body: A closure that is called with each number, in order, and returns `false` to
  ///   stop.
  /// - Returns: `false` if `body` returned `false`; otherwise, `true`.
  func add(
    _ number: ObjectNumber, _ key: RawSpan?, _ body: (ObjectNumber) throws -> Bool
  ) throws -> Bool {
    guard let key, key.byteCount > EntryKey.prefixByteCount else {
      return try numbers.isEmpty ? body(number) : finish(body) && body(number)
    }
    let start = Array(key.copy.prefix(EntryKey.prefixByteCount))
    if start != self.start {
      guard try finish(body) else { return false }
      self.start = start
    }
    numbers.append(number)
    return true
  }

  /// Calls `body` with the remaining entries in order.
  ///
  /// - Returns: `false` if `body` returned `false`; otherwise, `true`.
  func finish(_ body: (ObjectNumber) throws -> Bool) throws -> Bool {
    defer {
      start = []
      numbers = []
    }
    for number in try inOrder() where try !body(number) { return false }
    return true
  }

  private func inOrder() throws -> [ObjectNumber] {
    guard numbers.count > 1, let order = search.plan.order else { return numbers }
    let keys = try numbers.compactMap { number -> FetchOrder.Keys? in
      guard let storage = search.model.storage(of: number) else { return nil }
      return try search.view.withRecord(number, storage) { record in
        try scope.with(record, storage, number) { try order.keys(number, scope) }
      }
    }
    return keys.sorted { order.areInOrder($0, $1) }.map(\.number)
  }
}
