/// Entries of an index that are read in order, where it may not be known from their keys.
///
/// Keys that are longer than what shortened ones have of their values, and begin with that alike,
/// may be in any order. They follow each other; the values in their rows say in which they belong.
struct EntryTies {
  private let search: RowSearch
  private let scope: QueryScope
  /// What the keys of the entries that wait begin with.
  private var start: [UInt8] = []
  private var numbers: [ObjectNumber] = []

  init(search: RowSearch, scope: QueryScope) {
    self.search = search
    self.scope = scope
  }

  /// Takes an entry up, and hands on those that are in their order.
  ///
  /// - Parameter body: Returns false if it wants no more.
  /// - Returns: Whether more are wanted.
  mutating func add(
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

  /// Hands on what waits.
  mutating func finish(_ body: (ObjectNumber) throws -> Bool) throws -> Bool {
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
