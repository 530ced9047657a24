extension PersistentContainer {
  /// Releases every pin and every lock until ``resume()``, for apps that are about to be suspended:
  /// some systems terminate an app that holds a lock of a shared file then.
  ///
  /// All saves are durable when this returns. It applies to all stores of the container, and to all
  /// containers of these stores in this process; other processes are not affected. Until
  /// ``resume()``, all reads and writes of the stores throw `suspended`; ``remoteChanges`` keeps
  /// waiting. Reading a fault meanwhile sets ``ManagedObjectContext/faultError``.
  ///
  /// Contexts stay as they are, with their unsaved changes. A pinned context loses its generation:
  /// it pins the newest one at the next read after ``resume()``, as
  /// ``QueryGenerationToken/current`` does. Name a generation to return to it. Batched results
  /// become invalid, and must be fetched again. No thread may be reading during the call.
  ///
  /// - Throws: `busy` if a transaction of another process or thread takes longer than
  ///   `busyTimeout`; nothing has changed then. `closed` or `io`.
  /// - Complexity: One sync, if a commit is not durable yet.
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

  /// Resumes after ``suspend()``, with all commits of other processes meanwhile.
  ///
  /// - Throws: `busy`; `foreignStore` if the files were replaced meanwhile; `closed`, `corrupt` or
  ///   `io`. The store stays suspended then.
  public func resume() throws {
    let results = group.attachedStores.map { attached in Result { try attached.store.resume() } }
    for result in results { try result.get() }
  }
}
