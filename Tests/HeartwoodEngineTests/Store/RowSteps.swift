import HeartwoodEngine

/// The steps on one row that the tests of suspensions share.
enum RowSteps {
  @discardableResult
  static func put(
    _ value: UInt8, _ store: Store, _ durability: StoreOptions.Durability = .full
  ) throws -> Generation {
    try store.write(durability: durability) { try $0.keyspace("rows").put(7, [value]) }
  }

  static func value(_ store: Store) throws -> UInt8? {
    try store.snapshot().keyspace("rows")?.get(7)?.first
  }

  /// Returns the kind of the error that `body` throws, or `nil` if it throws no `StorageError`.
  static func kind<R>(_ body: () throws -> R) -> StorageError.Kind? {
    do { _ = try body() } catch { return (error as? StorageError)?.kind }
    return nil
  }
}
