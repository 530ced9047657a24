/// The commit protocol: the steps W1 to W3 of `Docs/Durability.md`, top to bottom.
package struct Commit {
  package let files: StoreFiles
  package let table: GenerationTable
  package let queue: SyncQueue
  package let gate: WriterGate
  package let pool: PagePool

  package init(
    files: StoreFiles, table: GenerationTable, queue: SyncQueue, gate: WriterGate, pool: PagePool
  ) {
    self.files = files
    self.table = table
    self.queue = queue
    self.gate = gate
    self.pool = pool
  }

  /// Runs `body` as the only writer and makes its changes one generation.
  ///
  /// - Parameter isDurable: Returns only when the commit survives a power cut.
  /// - Returns: The new generation; the newest one there is if `body` changed nothing.
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
    return state.generation
  }

  /// W1.1 to W1.7: everything under the writer lock.
  private func append(
    timeout: UInt64?, _ body: (inout WriteTransaction) throws -> Void
  ) throws -> GenerationState {
    try gate.enter(timeout: timeout)
    defer { gate.leave() }
    guard !files.words.hasFailed else { throw SyncQueue.closedForWriting }
    // Read after the lock: whoever held it before may have appended.
    let state = table.appended
    let base = files.geometry.next(after: state.generation)
    let pages = WorkingPages(on: state, files: files, pool: pool, base: base)
    let session = WriteSession(pages: pages)
    var transaction = WriteTransaction(session: session)
    do {
      defer { session.scope.end() }
      try body(&transaction)
      try session.finish()
    }
    guard !pages.isUnchanged else { return state }
    return try write(pages, on: state, base: base)
  }

  /// W1.4 to W1.6: groups, images and commit mark into the log, then the new state.
  private func write(
    _ pages: WorkingPages, on state: GenerationState, base: FrameNumber
  ) throws(StorageError) -> GenerationState {
    let images = pages.images()
    var writer = LogWriter(
      files: files.log, table: state.segments, after: state.point, lineage: state.point.lineage,
      base: base, durableUpTo: files.words.durable, supply: files.supply)
    let appended: (point: CommitPoint, frames: [FrameNumber])
    do throws(StorageError) {
      appended = try writer.commit(
        images, pageCount: pages.pageCount, time: files.fileSystem.wallClockMilliseconds)
    } catch {
      // A full disk rolls back: `appended` has not moved, and the next writer overwrites what lies
      // behind it. After any other error nobody knows what the files hold.
      if error.kind != .full { files.words.setFailed() }
      throw error
    }
    let index = PageIndex(sharing: state.index)
    for (image, frame) in zip(images, appended.frames) { index.set(image.page, to: frame) }
    let next: GenerationState
    do throws(StorageError) {
      next = try GenerationState(
        point: appended.point, index: index, segments: writer.table, files: files,
        lowestFree: pages.lowestFree)
    } catch {
      // The commit is whole on disk and will be found when the store is opened again, so nothing
      // may be written over it meanwhile.
      files.words.setFailed()
      throw error
    }
    let pageByteCount = files.geometry.pageByteCount
    files.counters.update {
      $0.commits += 1
      $0.pagesLogged += images.count
      $0.bytesLogged += Int(images.count + 1) * pageByteCount
    }
    table.publishAppended(next)
    return next
  }
}
