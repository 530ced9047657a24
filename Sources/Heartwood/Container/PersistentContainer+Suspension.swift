extension PersistentContainer {
  /// Suspends the container's stores, and releases all pins and locks.
  ///
  /// Call this method before the system suspends the app, because some systems terminate an app
  /// that is suspended while it holds a lock on a shared file. When the method returns, all saves
  /// are durable. The call applies to all stores of the container, and to all containers in this
  /// process that use these stores. Other processes are not affected. Until ``resume()`` is called,
  /// all reads and writes of the stores throw `suspended`, and ``remoteChanges`` keeps waiting.
  /// Reading a fault during this time sets ``ManagedObjectContext/faultError``.
  ///
  /// Contexts keep their objects and unsaved changes. A pinned context loses its generation: at its
  /// first read after ``resume()``, it pins the newest generation, as with
  /// ``QueryGenerationToken/current``. To let the context return to its generation later, name the
  /// generation before the call. Batched results become invalid and must be fetched again. No
  /// thread may read from the stores during the call.
  ///
  /// - Throws: `busy` if transactions of other threads, or another process's sync, take longer than
  ///   `busyTimeout` for one of the stores; `closed` or `io`. If the method throws `busy`, no store
  ///   is suspended.
  /// - Complexity: The method syncs once if a commit is not yet durable.
  public func suspend() throws {
    var done: [Store] = []
    do {
      for attached in group.attachedStores {
        try attached.store.suspend()
        done.append(attached.store)
      }
    } catch {
      for store in done { try? store.resume() }
      throw error
    }
  }

  /// Resumes the stores after a call to ``suspend()``.
  ///
  /// Later reads see all commits that other processes made while the stores were suspended.
  ///
  /// - Throws: `busy`; `foreignStore` if the files were replaced during the suspension; `closed`,
  ///   `corrupt` or `io`. A store that cannot be resumed stays suspended.
  public func resume() throws {
    let results = group.attachedStores.map { attached in Result { try attached.store.resume() } }
    for result in results { try result.get() }
  }
}
