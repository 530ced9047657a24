/// The information that this process publishes about its use of a store, for display to users.
///
/// - Note: `@unchecked` because only the maintenance thread uses the mutable state, or the code
///   that runs after that thread has ended.
package final class HolderEntry: @unchecked Sendable {
  package let row: HolderRow
  package let isReadOnly: Bool
  private let locks: StoreLocks
  private var rowByte: UInt64?
  /// The generations held at the last check.
  private var seen: Set<FrameNumber> = []
  private var locked: Set<FrameNumber> = []

  package init(_ row: HolderRow, isReadOnly: Bool, locks: StoreLocks) {
    self.row = row
    self.isReadOnly = isReadOnly
    self.locks = locks
  }

  /// Publishes that the store is open here, unless that is published already.
  ///
  /// A read-only process changes no file, and is shown with the name of its program.
  package func announce(in file: HolderFile) {
    _ = locks.set(.open(row.process, isReadOnly: isReadOnly))
    if !isReadOnly, rowByte == nil { rowByte = file.enter(row) }
  }

  /// Locks the holder locks of generations that were held at the last check and still are, and
  /// unlocks those of others: short-lived readers cost nothing.
  ///
  /// - Returns: Whether another check is needed later.
  /// - Complexity: One lock call for each holder lock that is set or released.
  package func refresh(_ held: Set<FrameNumber>) -> Bool {
    for generation in locked.subtracting(held) {
      locks.remove(.holding(generation, row.process))
      locked.remove(generation)
    }
    for generation in held.intersection(seen).subtracting(locked).sorted()
    where locked.count < Limits.maxHeldGenerationLockCount {
      if locks.set(.holding(generation, row.process)) { locked.insert(generation) }
    }
    seen = held
    return !held.isEmpty
  }

  /// Withdraws everything.
  package func withdraw() {
    _ = refresh([])
    locks.remove(.open(row.process, isReadOnly: isReadOnly))
    // The bytes of the row stay; without the lock they have no meaning.
    if let rowByte { try? locks.unlock(byte: rowByte) }
    rowByte = nil
  }
}
