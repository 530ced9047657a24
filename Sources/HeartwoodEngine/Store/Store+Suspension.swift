extension Store {
  /// Suspends the store, and releases all pins and locks that this process holds on it.
  ///
  /// The store remains suspended until ``resume()`` is called.
  ///
  /// Call this method when an app is about to be suspended. Some systems terminate a suspended
  /// process that holds a lock on a shared file. All committed transactions are durable on return,
  /// unless an earlier sync has failed. The call affects all of this process's `Store` objects for
  /// the same store, as well as snapshots of `Store` objects that have already been closed. The
  /// call does not affect a ``Replica``, which must be closed instead.
  ///
  /// The method waits for running transactions of this process, but not for transactions or
  /// maintenance runs of other processes. The method interrupts this process's maintenance runs, as
  /// well as calls that wait for another process's transaction or maintenance run. Interrupted
  /// calls throw `suspended`.
  ///
  /// Earlier snapshots become invalid and remain invalid after ``resume()``. Reading from an
  /// invalid snapshot throws `generationExpired`, because other processes may overwrite the
  /// snapshot's pages. No thread may read during the call, because with `.mapped` access, the
  /// memory being read may change. While the store is suspended, every other call except
  /// ``close()`` throws `suspended`, and ``commits()`` keeps waiting. Suspending a store that is
  /// already suspended has no effect.
  ///
  /// - Throws: `busy` if the waits take longer than `busyTimeout` in total. In that case, the store
  ///   is not suspended. Also throws `closed` or `io`.
  /// - Complexity: One sync of the log, if a commit is not durable yet. In addition, the method
  ///   waits for the current step of a maintenance run, such as a sync or the reading of an index.
  public func suspend() throws {
    try requireOpen()
    try StoreRegistry.ofThisProcess.suspend(registryKey, timeout: options.busyMilliseconds)
  }

  /// Resumes a suspended store.
  ///
  /// The resumed store shows the changes that other processes made during the suspension. The call
  /// affects the same `Store` objects as ``suspend()``.
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
    let registry = StoreRegistry.ofThisProcess
    // Return if this thread is performing a write through any `Store` object, because the store is
    // not suspended during a write. Waiting for a thread that is about to suspend the store would
    // cause a deadlock, because that thread waits for the write to end.
    guard !registry.cores(of: registryKey).contains(where: \.writerLock.isHeldByThisThread) else {
      return
    }
    try registry.resume(registryKey, sequence)
    // The store may have been closed while this thread waited.
    try requireOpen()
  }
}

extension StoreRegistry {
  private static func deadline(after timeout: UInt64) -> UInt64 {
    let now = SystemThread.monotonicMilliseconds
    return now + min(timeout, .max - now)
  }

  /// Performs step S1: suspends all cores that this process has for a store.
  func suspend(_ key: Key, timeout: UInt64) throws(StorageError) {
    let deadline = Self.deadline(after: timeout)
    try beginChange(of: key, until: deadline)
    defer { endChange(of: key) }
    let cores = try requestSuspension(of: key, until: deadline)
    do throws(StorageError) {
      try StoreCore.suspend(cores[...], until: deadline) { () throws(StorageError) in
        var failure: StorageError?
        for core in cores where !core.table.isSuspended {
          do throws(StorageError) { try core.releaseAll() } catch { failure = error }
        }
        if let failure { throw failure }
      }
    } catch {
      for core in cores { core.withdrawRequest() }
      throw error
    }
  }

  /// Performs step S3: resumes all of a store's cores that are in use by `Store` objects.
  ///
  /// If a core cannot be resumed, all of them remain suspended.
  func resume(_ key: Key, _ sequence: OpenSequence) throws(StorageError) {
    let deadline = Self.deadline(after: sequence.options.busyMilliseconds)
    try beginChange(of: key, until: deadline)
    defer { endChange(of: key) }
    var attached: [(core: StoreCore, state: GenerationState, lineages: [EndedLineage]?)] = []
    do throws(StorageError) {
      for core in cores(of: key) where core.table.isSuspended {
        let (state, lineages) = try sequence.reattach(core)
        attached.append((core, state, lineages))
      }
    } catch {
      for (core, _, _) in attached { try? core.files.locks.unlock(byte: core.presence) }
      throw error
    }
    for (core, state, lineages) in attached { core.activate(at: state, lineages) }
  }
}

extension StoreCore {
  /// Runs `release` while no operation of this process is in progress in any of the given cores.
  ///
  /// All commits are durable by the time `release` runs, unless a sync has failed.
  fileprivate static func suspend(
    _ cores: ArraySlice<StoreCore>, until deadline: UInt64,
    _ release: () throws(StorageError) -> Void
  ) throws(StorageError) {
    guard let core = cores.first else { return try release() }
    try core.whileIdle(until: deadline) { () throws(StorageError) in
      try suspend(cores.dropFirst(), until: deadline, release)
    }
  }

  /// Runs `body` while no operation of this process is in progress.
  ///
  /// The method does not wait for locks that other processes hold, except for the sync lock. The
  /// method acquires the thread locks in the same order as the byte locks.
  private func whileIdle(
    until deadline: UInt64, _ body: () throws(StorageError) -> Void
  ) throws(StorageError) {
    precondition(
      !writerLock.isHeldByThisThread,
      "A store was suspended inside a write transaction. Suspend it after the transaction has "
        + "ended.")
    guard !table.isSuspended else { return try body() }
    // Stop the maintenance thread first. Otherwise, the maintenance thread could wait for locks
    // held here while this thread waits for the maintenance thread to end.
    guard maintenance.stop(until: deadline) else { throw Suspensions.busy }
    try files.maintenance.excludingThreads(until: deadline) { () throws(StorageError) in
      guard !isReadOnly else { return try body() }
      try writerLock.excludingThreads(until: deadline) { () throws(StorageError) in
        // If writing is disabled after a failure, the appended commits can no longer be made
        // durable. Suspend the store anyway, because a later `.full` commit or sync reports the
        // failure.
        if !files.counters.hasFailed {
          try queue.makeDurable(files.counters.appended, until: deadline)
        }
        try queue.excludingThreads(until: deadline) { () throws(StorageError) in
          try files.allocator.excludingThreads(until: deadline) { () throws(StorageError) in
            try files.keeping.excludingThreads(until: deadline, body)
          }
        }
      }
    }
  }

  fileprivate func releaseAll() throws(StorageError) {
    files.suspensions.begin()
    holder.withdraw()
    let result = Result { () throws(StorageError) in try table.suspend() }
    signal.suspend()
    try files.locks.unlock(byte: presence)
    try result.get()
  }

  /// Withdraws the suspension request and restarts maintenance, unless the store has been
  /// suspended.
  fileprivate func withdrawRequest() {
    files.suspensions.withdrawRequest()
    if !table.isSuspended { _ = maintenance.restart() }
  }

  /// Ends the suspension of this core, and sets the core's current state to `state`, which was read
  /// from the files.
  fileprivate func activate(at state: GenerationState, _ lineages: [EndedLineage]?) {
    let isOpen = maintenance.restart {
      if let lineages { maintenance.adopt(lineages) }
      table.resume(at: state)
      files.suspensions.end()
      signal.resume()
    }
    // If the store was closed in the meantime, release the presence lock that `reattach` acquired.
    if !isOpen { try? files.locks.unlock(byte: presence) }
  }
}
