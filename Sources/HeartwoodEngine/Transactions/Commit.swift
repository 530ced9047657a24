/// The commit protocol, which consists of steps W1 to W3 in `Docs/Internals/Concurrency.md`.
package struct Commit {
  package let files: StoreFiles
  package let table: GenerationTable
  package let queue: SyncQueue
  package let writerLock: WriterLock
  package let signal: CommitSignal
  package let pool: PagePool
  /// The maximum number of changed pages that a transaction keeps in memory.
  package let memoryPageLimit: Int

  /// Runs `body` as the only writer, and commits its changes as one generation.
  ///
  /// If `body` changes nothing, the method returns the newest existing generation. If `isDurable`
  /// is `true`, the commit survives a power cut once the method has returned. `timeout` is the
  /// maximum time in milliseconds to wait for the writer lock, or `nil` to wait without a limit.
  package func run(
    isDurable: Bool, timeout: UInt64?,
    _ body: (inout WriteTransaction) throws -> Void
  ) throws -> FrameNumber {
    let state = try append(timeout: timeout, body)
    if isDurable {
      try queue.makeDurable(state.generation)
    } else {
      table.publishVisible(state)
    }
    signal.notify()
    return state.generation
  }

  /// Runs `body` under the writer lock, and appends any changes to the log.
  ///
  /// These are steps W1.1 to W1.7 of `Docs/Internals/Concurrency.md`.
  private func append(
    timeout: UInt64?, _ body: (inout WriteTransaction) throws -> Void
  ) throws -> GenerationState {
    try writerLock.acquire(timeout: timeout)
    defer { writerLock.release() }
    try table.requireActive()
    guard !files.counters.hasFailed else { throw SyncQueue.writesDisabled }
    // Read the state under the lock, because another thread or process may have appended a commit
    // just before this thread acquired the lock.
    let state = try table.catchUp()
    let base = files.geometry.next(after: state.generation)
    let pages = WorkingPages(
      on: state, files: files, pool: pool, base: base, memoryPageLimit: memoryPageLimit)
    // Release the pages here, because a copy of the transaction may outlive its closure.
    defer { pages.end() }
    let session = WriteSession(pages: pages)
    var transaction = WriteTransaction(session: session)
    do {
      defer { session.scope.end() }
      try body(&transaction)
      try session.finish()
      guard !pages.isUnchanged else {
        pages.abandon()
        return state
      }
      // Write the groups, the images and the commit mark to the log, and then publish the new state
      // (steps W1.4 to W1.6).
      let next = try pages.commit()
      files.activity.update { $0.commitCount += 1 }
      table.publishAppended(next)
      return next
    } catch {
      pages.abandon()
      throw error
    }
  }
}
