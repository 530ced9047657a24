extension PersistentContainer {
  /// Gives up every pin and every lock, until ``resume()``: for apps that are about to sleep, which
  /// some systems end if they hold a lock of a shared file then.
  ///
  /// All that was saved is durable when this returns. It concerns all stores of the container, and
  /// all containers of these stores in this process; others are not disturbed. Until ``resume()``,
  /// everything that would read or write the store throws `suspended`; ``remoteChanges`` goes on
  /// waiting. A fault that is read meanwhile sets ``ManagedObjectContext/faultError``.
  ///
  /// Contexts stay as they are, with what was changed in them. One that is pinned has no generation
  /// any more: it chooses the newest at the next read after ``resume()``, as
  /// ``QueryGenerationToken/current`` does. Keep a generation by name to come back to it. Batched
  /// results are over, and have to be fetched again. No thread may be reading.
  ///
  /// - Throws: `busy` if somebody else's transaction takes longer than `busyTimeout`; nothing has
  ///   changed then. `closed` or `io`.
  /// - Complexity: One sync, if something is not durable.
  public func suspend() throws {
    var done: [Store] = []
    do {
      for member in group.members {
        try member.store.suspend()
        done.append(member.store)
      }
    } catch {
      for store in done { try? store.resume() }
      throw error
    }
  }

  /// Goes on after ``suspend()``, with all that other processes have done meanwhile.
  ///
  /// - Throws: `busy`; `foreignStore` if the files were exchanged meanwhile; `closed`, `corrupt` or
  ///   `io`. The store stays suspended then.
  public func resume() throws {
    let results = group.members.map { member in Result { try member.store.resume() } }
    for result in results { try result.get() }
  }
}
