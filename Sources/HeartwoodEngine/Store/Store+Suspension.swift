extension Store {
  /// Releases all pins and locks of this process until ``resume()``.
  ///
  /// Call this method when an app is about to be suspended, because some systems terminate a
  /// suspended process that holds a lock on a shared file. All committed transactions are durable
  /// on return. The call affects all openings of this store in this process.
  ///
  /// Earlier snapshots become invalid and stay invalid after ``resume()``; reading them throws
  /// `generationExpired`, because other processes may overwrite their pages. During the call, no
  /// thread may be in the middle of a read, because the memory that a `.mapped` store passes to
  /// readers may change. While the store is suspended, every other call except ``close()`` throws
  /// `suspended`; ``commits()`` keeps waiting. Suspending a store twice has no effect.
  ///
  /// - Throws: `busy` if a transaction or a replacement of the list of named generations takes
  ///   longer than `busyTimeout`, in which case nothing has changed; `closed` or `io`.
  /// - Complexity: One sync of the log, if a commit is not durable yet.
  public func suspend() throws {
    try requireOpen()
    precondition(!writerLock.isHeldByThisThread, "A store was suspended inside a write.")
    guard firstCore.isPrivate else { return try core.suspend(timeout: options.busyMilliseconds) }
    // A private read-only core must not be replaced meanwhile by an active one.
    _ = try StoreRegistry.ofThisProcess.renew(registryKey) { core throws(StorageError) in
      try core.suspend(timeout: options.busyMilliseconds)
      return nil
    }
  }

  /// Resumes a suspended store, including the changes that other processes have made meanwhile.
  ///
  /// Resuming a store that is not suspended has no effect.
  ///
  /// - Throws: `busy` if another process has been opening the store for longer than `busyTimeout`;
  ///   `foreignStore` if the files were replaced meanwhile; `closed`, `corrupt` or `io`. The store
  ///   then stays suspended.
  /// - Complexity: The same as pinning a generation that is not known to this process.
  public func resume() throws {
    try requireOpen()
    // If this thread is in a write, the store is not suspended, and the thread must not wait for
    // maintenance.
    guard !writerLock.isHeldByThisThread else { return }
    try core.resume(sequence)
  }
}

extension StoreCore {
  /// S1: suspends the store, after operations in progress have ended.
  func suspend(timeout: UInt64) throws(StorageError) {
    // The maintenance thread is stopped first, because it could otherwise wait for locks held here
    // while this thread waits for it to end.
    maintenance.stop()
    do throws(StorageError) {
      try files.maintenance.withLock(timeout: timeout) { () throws(StorageError) in
        guard !isReadOnly else { return try releaseAll() }
        try writerLock.acquire(timeout: timeout)
        defer { writerLock.release() }
        // After a failed sync, commits can be lost; a later `.full` commit or sync reports this.
        if !files.counters.hasFailed { try queue.makeDurable(files.counters.appended) }
        try files.keeping.withLock { () throws(StorageError) in try releaseAll() }
      }
    } catch {
      if error.kind == .suspended { return }
      if !table.isSuspended { maintenance.start() }
      throw error
    }
  }

  private func releaseAll() throws(StorageError) {
    holder.withdraw()
    try table.suspend()
    signal.suspend()
    try files.locks.unlock(byte: presence)
  }

  /// S3: resumes the store.
  func resume(_ sequence: OpenSequence) throws(StorageError) {
    try files.maintenance.withLock { () throws(StorageError) in
      guard table.isSuspended else { return }
      table.resume(at: try sequence.reattach(self))
      signal.resume()
      maintenance.start()
    }
  }
}
