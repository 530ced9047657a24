/// What this process tells people about its use of a store.
///
/// - Note: `@unchecked` because what changes is used by the thread of upkeep only, or when it has
///   ended.
package final class HolderEntry: @unchecked Sendable {
  package let row: HolderRow
  package let isReadOnly: Bool
  private let locks: StoreLocks
  private var rowByte: UInt64?
  /// Generations that were held at the last look.
  private var seen: Set<FrameNumber> = []
  private var marked: Set<FrameNumber> = []

  package init(_ row: HolderRow, isReadOnly: Bool, locks: StoreLocks) {
    self.row = row
    self.isReadOnly = isReadOnly
    self.locks = locks
  }

  /// Says that the store is open here, unless it has been said.
  ///
  /// Who only reads changes no file, and is known by the name of its program.
  package func announce(in file: HolderFile) {
    _ = locks.set(.open(row.process, isReadOnly: isReadOnly))
    if !isReadOnly, rowByte == nil { rowByte = file.enter(row) }
  }

  /// Marks what is held and was at the last look too, and takes back the marks of what is not: who
  /// reads for a moment costs nothing.
  ///
  /// - Returns: Whether there is reason to look again in a while.
  /// - Complexity: One lock call for each mark that is set or taken back.
  package func refresh(_ held: Set<FrameNumber>) -> Bool {
    for generation in marked.subtracting(held) {
      locks.remove(.holding(generation, row.process))
      marked.remove(generation)
    }
    for generation in held.intersection(seen).subtracting(marked).sorted()
    where marked.count < Limits.maxMarkedGenerationCount {
      if locks.set(.holding(generation, row.process)) { marked.insert(generation) }
    }
    seen = held
    return !held.isEmpty
  }

  /// Takes everything back.
  package func withdraw() {
    _ = refresh([])
    locks.remove(.open(row.process, isReadOnly: isReadOnly))
    // The bytes of the row stay; without the lock they mean nothing.
    if let rowByte { try? locks.unlock(byte: rowByte) }
    rowByte = nil
  }
}
