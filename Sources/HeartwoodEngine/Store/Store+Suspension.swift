extension Store {
  /// Gives up every pin and every lock of this process, until ``resume()``.
  ///
  /// For apps that are about to sleep: some systems end a process that holds a lock of a shared
  /// file then. All that was committed is durable when this returns. It concerns all openings of
  /// this store in this process.
  ///
  /// Snapshots taken before show nothing any more, also after ``resume()``: reading throws
  /// `generationExpired`, since others may write over what they showed. No thread may be in the
  /// middle of a read: what a `.mapped` store has handed out by reference may change under it.
  /// Every other call but ``close()`` throws `suspended`; ``commits()`` goes on waiting. Suspending
  /// twice is no error.
  ///
  /// - Throws: `busy` if a transaction or an exchange of the list of kept generations takes longer
  ///   than `busyTimeout`, and nothing has changed then; `closed` or `io`.
  /// - Complexity: One sync of the log, if something is not durable.
  public func suspend() throws {
    try requireOpen()
    precondition(!gate.isHeldByThisThread, "a store was suspended inside a write")
    guard firstCore.isPrivate else { return try core.suspend(timeout: options.busyMilliseconds) }
    // A core that reads alone must not be exchanged meanwhile for one that is awake.
    _ = try StoreRegistry.ofThisProcess.renew(place) { core throws(StorageError) in
      try core.suspend(timeout: options.busyMilliseconds)
      return nil
    }
  }

  /// Goes on after ``suspend()``, with all that other processes have done meanwhile.
  ///
  /// Resuming a store that is not suspended is no error.
  ///
  /// - Throws: `busy` if another process has been opening the store for longer than `busyTimeout`;
  ///   `foreignStore` if the files were exchanged meanwhile; `closed`, `corrupt` or `io`. The store
  ///   stays suspended then.
  /// - Complexity: As pinning a generation of which nothing is known.
  public func resume() throws {
    try requireOpen()
    // The store of a writer is not suspended, and a writer must not wait for maintenance.
    guard !gate.isHeldByThisThread else { return }
    try core.resume(sequence)
  }
}

extension StoreCore {
  /// S1, with what runs brought to its end first.
  func suspend(timeout: UInt64) throws(StorageError) {
    // It would wait for what is held here, and be waited for.
    maintenance.stop()
    do throws(StorageError) {
      try files.maintenance.withLock(timeout: timeout) { () throws(StorageError) in
        guard !isReadOnly else { return try giveUp() }
        try gate.enter(timeout: timeout)
        defer { gate.leave() }
        // After a failed sync, commits can be lost; a later `.full` commit or sync reports that.
        if !files.words.hasFailed { try queue.makeDurable(files.words.appended) }
        try files.keeping.withLock { () throws(StorageError) in try giveUp() }
      }
    } catch {
      if error.kind == .suspended { return }
      if !table.isSuspended { maintenance.start() }
      throw error
    }
  }

  private func giveUp() throws(StorageError) {
    holder.withdraw()
    try table.suspend()
    signal.suspend()
    try files.locks.unlock(byte: presence)
  }

  /// S3.
  func resume(_ sequence: OpenSequence) throws(StorageError) {
    try files.maintenance.withLock { () throws(StorageError) in
      guard table.isSuspended else { return }
      table.resume(at: try sequence.rejoin(self))
      signal.resume()
      maintenance.start()
    }
  }
}
