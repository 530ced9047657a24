/// The pages to restore if a savepoint is rolled back, and the log frames of the savepoint's
/// spilled changes.
struct SavepointPages {
  /// The earlier bytes of each page that was changed in the savepoint.
  ///
  /// The bytes are `nil` if the page was not in memory.
  var replaced = WorkingTable()
  /// The locations of pages that were not in memory when the savepoint began, or that were spilled
  /// later.
  var index: PageIndex
  let pageCount: PageNumber
  let freeSpace: FreeSpace
  var frames: [VoidRange] = []
}

extension WorkingPages {
  /// Begins a savepoint within the innermost open savepoint, or within the transaction if no
  /// savepoint is open.
  package func beginSavepoint() {
    savepoints.append(
      SavepointPages(
        index: PageIndex(sharing: index), pageCount: pageCount, freeSpace: freeSpace))
    moveCount &+= 1
  }

  /// Ends the innermost savepoint, and adds its changes to the enclosing savepoint or transaction.
  package func releaseSavepoint() {
    guard let ended = savepoints.popLast() else { return }
    ended.replaced.forEach { number, block in
      if let outer = savepoints.indices.last, !savepoints[outer].replaced.contains(number) {
        savepoints[outer].replaced.set(block, of: number)
      } else if let block {
        recycle(block)
      }
    }
    ended.replaced.deallocate()
    if let outer = savepoints.indices.last { savepoints[outer].frames += ended.frames }
  }

  /// Ends the innermost savepoint, and restores the state at the beginning of that savepoint.
  package func rollBackSavepoint() {
    guard let ended = savepoints.popLast() else { return }
    ended.replaced.forEach { number, block in
      if let own = table.pointee.block(of: number) { recycle(own) }
      table.pointee.set(block, of: number)
    }
    ended.replaced.deallocate()
    index = ended.index
    freeSpace = ended.freeSpace
    voids += ended.frames
    refreshSource(pageCount: ended.pageCount)
  }
}
