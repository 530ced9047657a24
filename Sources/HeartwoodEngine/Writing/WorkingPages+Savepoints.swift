/// What one savepoint would put back, and what was written to the log on its behalf.
struct SavepointPages {
  /// The bytes of each page changed since, as they were before; `nil` if it was not in memory.
  var replaced = WorkingTable()
  /// Where the pages were that were not in memory, and where those are that were spilled since.
  var index: PageIndex
  let pageCount: PageNumber
  let freeSpace: FreeSpace
  var frames: [VoidRange] = []
}

// Going back to how things were in the middle of a transaction.
extension WorkingPages {
  /// Begins a savepoint, within the one that is open if there is one.
  ///
  /// - Complexity: No page is copied before it changes.
  package func beginSavepoint() {
    savepoints.append(
      SavepointPages(
        index: PageIndex(sharing: index), pageCount: pageCount, freeSpace: freeSpace))
    moveCount &+= 1
  }

  /// Ends the innermost savepoint; its changes become those of what it was opened in.
  package func releaseSavepoint() {
    guard let ended = savepoints.popLast() else { return }
    ended.replaced.forEach { number, block in
      if let outer = savepoints.indices.last, !savepoints[outer].replaced.contains(number) {
        savepoints[outer].replaced.set(block, of: number)
      } else if let block {
        giveBack(block)
      }
    }
    ended.replaced.deallocate()
    if let outer = savepoints.indices.last { savepoints[outer].frames += ended.frames }
  }

  /// Ends the innermost savepoint and puts everything back as it was when it began.
  package func rollBackSavepoint() {
    guard let ended = savepoints.popLast() else { return }
    ended.replaced.forEach { number, block in
      if let own = table.pointee.block(of: number) { giveBack(own) }
      table.pointee.set(block, of: number)
    }
    ended.replaced.deallocate()
    index = ended.index
    freeSpace = ended.freeSpace
    log.void(ended.frames)
    refreshSource(pageCount: ended.pageCount)
  }
}
