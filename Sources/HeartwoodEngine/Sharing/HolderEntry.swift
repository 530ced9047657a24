/// The information that this process publishes about its use of a store, for display to users.
package final class HolderEntry: @unchecked Sendable {
  // `@unchecked` is safe because `lock` guards every property declared after it.
  package let row: HolderRow
  package let isReadOnly: Bool
  private let locks: StoreLocks
  private let lock = Lock()
  private var rowByte: UInt64?
  /// The generations held at the last check.
  private var seen: Set<FrameNumber> = []
  private var locked: Set<FrameNumber> = []

  package init(_ row: HolderRow, isReadOnly: Bool, locks: StoreLocks) {
    self.row = row
    self.isReadOnly = isReadOnly
    self.locks = locks
  }

  /// Announces that this process has the store open, unless that has already been announced.
  ///
  /// A read-only process sets a lock but does not write a row, so users see only the name of its
  /// program.
  package func announce(in file: HolderFile) {
    lock.withLock {
      _ = locks.set(.open(row.process, isReadOnly: isReadOnly))
      if !isReadOnly, rowByte == nil { rowByte = file.enter(row) }
    }
  }

  /// Sets holder locks for generations that were held at two consecutive checks.
  ///
  /// The method also releases the holder locks of generations that are no longer held.
  ///
  /// - Returns: Whether another check is needed later.
  /// - Complexity: One lock call for each holder lock that is set or released.
  package func refresh(_ held: Set<FrameNumber>) -> Bool {
    lock.withLock { update(held) }
    return !held.isEmpty
  }

  private func update(_ held: Set<FrameNumber>) {
    for generation in locked.subtracting(held) {
      locks.remove(.holding(generation, row.process))
      locked.remove(generation)
    }
    for generation in held.intersection(seen).subtracting(locked).sorted()
    where locked.count < Limits.maxHeldGenerationLockCount {
      if locks.set(.holding(generation, row.process)) { locked.insert(generation) }
    }
    seen = held
  }

  /// Withdraws all information that this process has published about its use of the store.
  package func withdraw() {
    lock.withLock {
      update([])
      locks.remove(.open(row.process, isReadOnly: isReadOnly))
      // The row need not be erased, because it has no meaning without its lock.
      if let rowByte { try? locks.unlock(byte: rowByte) }
      rowByte = nil
    }
  }
}
