extension Store {
  /// Releases all pins and locks of this process until ``resume()`` is called.
  ///
  /// Call this method when an app is about to be suspended. Some systems terminate a suspended
  /// process that holds a lock on a shared file. All committed transactions are durable on return,
  /// unless an earlier sync has failed. The call affects every `Store` object that this process has
  /// for the same store.
  ///
  /// Earlier snapshots become invalid and remain invalid after ``resume()``. Reading from such a
  /// snapshot throws `generationExpired`, because other processes may overwrite its pages. No
  /// thread may read during the call, because with `.mapped` access, the memory being read may
  /// change. While the store is suspended, every other call except ``close()`` throws `suspended`,
  /// and ``commits()`` keeps waiting. Suspending a store that is already suspended has no effect.
  ///
  /// - Throws: `busy` if a transaction or a replacement of the list of named generations takes
  ///   longer than `busyTimeout`. In that case, nothing has changed. Also throws `closed` or `io`.
  /// - Complexity: One sync of the log, if a commit is not durable yet.
  public func suspend() throws {
    try requireOpen()
    precondition(
      !writerLock.isHeldByThisThread,
      "A store was suspended inside a write. Suspend it after the write has returned.")
    guard firstCore.isPrivate else { return try core.suspend(timeout: options.busyMilliseconds) }
    // Suspend a private read-only core within `renew`, so that no other thread can replace the core
    // with an active core during the call.
    _ = try StoreRegistry.ofThisProcess.renew(registryKey) { core throws(StorageError) in
      try core.suspend(timeout: options.busyMilliseconds)
      return nil
    }
  }

  /// Resumes a suspended store.
  ///
  /// The resumed store shows the changes that other processes made during the suspension.
  ///
  /// Resuming a store that is not suspended has no effect.
  ///
  /// - Throws: `busy` if another process has been opening the store for longer than `busyTimeout`,
  ///   or `foreignStore` if the files were replaced during the suspension. Also throws `closed`,
  ///   `corrupt` or `io`. After an error, the store remains suspended.
  /// - Complexity: The same as ``snapshot(at:)-(Generation)`` for a generation that this process
  ///   does not hold.
  public func resume() throws {
    try requireOpen()
    // Return if this thread is performing a write: the store is then not suspended, and the thread
    // must not wait for maintenance.
    guard !writerLock.isHeldByThisThread else { return }
    try core.resume(sequence)
  }
}

extension StoreCore {
  /// Performs step S1: suspends the store, after the operations in progress have ended.
  func suspend(timeout: UInt64) throws(StorageError) {
    // Stop the maintenance thread first. Otherwise, the maintenance thread could wait for locks
    // held here while this thread waits for the maintenance thread to end.
    maintenance.stop()
    do throws(StorageError) {
      try files.maintenance.withLock(timeout: timeout) { () throws(StorageError) in
        guard !isReadOnly else { return try releaseAll() }
        try writerLock.acquire(timeout: timeout)
        defer { writerLock.release() }
        // If writing is disabled after a failure, the appended commits can no longer be made
        // durable. Suspend the store anyway, because a later `.full` commit or sync reports the
        // failure.
        if !files.counters.hasFailed { try queue.makeDurable(files.counters.appended) }
        try files.keeping.withLock { () throws(StorageError) in try releaseAll() }
      }
    } catch {
      if error.kind == .suspended { return }
      if !table.isSuspended { _ = maintenance.restart() }
      throw error
    }
  }

  private func releaseAll() throws(StorageError) {
    holder.withdraw()
    try table.suspend()
    signal.suspend()
    try files.locks.unlock(byte: presence)
  }

  /// Performs step S3: resumes the store.
  func resume(_ sequence: OpenSequence) throws(StorageError) {
    try files.maintenance.withLock { () throws(StorageError) in
      guard table.isSuspended else { return }
      let state = try sequence.reattach(self)
      let isOpen = maintenance.restart {
        table.resume(at: state)
        signal.resume()
      }
      guard !isOpen else { return }
      // The store was closed while this thread waited, so release the lock acquired since.
      try? files.locks.unlock(byte: presence)
      throw .closed(files.directory)
    }
  }
}
