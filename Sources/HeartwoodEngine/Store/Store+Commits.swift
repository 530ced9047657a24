extension Store {
  /// Returns a sequence of future commits by this process and all other processes.
  ///
  /// The sequence yields the newest generation whenever it is newer than the last yielded
  /// generation. If several commits occur while no task is awaiting the sequence, the sequence
  /// yields one element for all of them. The sequence ends when the store is closed or the waiting
  /// task is cancelled. Until then, the sequence retains the `Store` object.
  ///
  /// ```swift
  /// for await generation in store.commits() {
  ///   try show(store.snapshot())
  /// }
  /// ```
  ///
  /// When a process commits, it notifies observers in other processes through the file system. If
  /// the process dies before notifying them, the sequence still yields the commit within a second.
  ///
  /// - Complexity: If no process observes the store, a commit costs one additional clock read, and
  ///   at most one additional lock query every tenth of a second.
  public func commits() -> Commits {
    Commits(store: self, known: files.origin.isInherited ? 0 : newestGeneration)
  }

  private var newestGeneration: FrameNumber {
    max(files.counters.committed, table.visible.generation)
  }
}

/// A sequence that yields the newest generation of a store whenever a new generation is committed.
public struct Commits: AsyncSequence, Sendable {
  /// The newest generation at the time when the element is returned.
  public typealias Element = Generation
  /// The error type, which is `Never` because iterating over the sequence throws no errors.
  public typealias Failure = Never

  fileprivate let store: Store
  fileprivate let known: FrameNumber

  /// Creates an iterator.
  ///
  /// The iterator also yields commits made between the creation of the sequence and this call.
  public func makeAsyncIterator() -> Iterator {
    Iterator(observer: CommitObserver(store), known: known)
  }

  /// An iterator that waits for commits.
  public struct Iterator: AsyncIteratorProtocol {
    fileprivate let observer: CommitObserver
    fileprivate var known: FrameNumber

    /// Waits for a newer generation and returns it.
    ///
    /// The method returns `nil` once the store is closed or the task is cancelled.
    public mutating func next(
      isolation actor: isolated (any Actor)? = #isolation
    ) async -> Generation? {
      guard let newest = await observer.next(after: known) else { return nil }
      known = newest
      return Generation(frame: newest)
    }
  }
}

/// An observer that waits for commits to a store.
///
/// The observer remains registered with the store's signal until it is deallocated.
private final class CommitObserver: @unchecked Sendable {
  // `@unchecked` is safe because `lock` guards `signal`.
  private let store: Store
  private let lock = Lock()
  private var signal: CommitSignal?

  init(_ store: Store) {
    self.store = store
    if !store.files.origin.isInherited, !store.core.isPrivate { _ = presentSignal() }
  }

  deinit { if !store.files.origin.isInherited { signal?.removeObserver() } }

  /// The interval, in nanoseconds, at which an observer polls a read-only store without shared
  /// counters.
  ///
  /// Polling is necessary because the process that later creates the counters cannot notify
  /// observers that already exist.
  private static let checkNanoseconds: UInt64 = 250_000_000

  func next(after known: FrameNumber) async -> FrameNumber? {
    guard !store.files.origin.isInherited else { return nil }
    while store.core.isPrivate {
      do {
        let found = try store.snapshot().generation.frame
        if found > known { return found }
      } catch {
        // Keep polling after an error, unless the store has been closed, because the next attempt
        // may succeed.
        guard !store.isOver, !store.files.origin.isInherited else { return nil }
      }
      do { try await Task.sleep(nanoseconds: Self.checkNanoseconds) } catch { return nil }
    }
    let signal = presentSignal()
    let id = signal.makeWaitID()
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        signal.wait(
          id, for: ObjectIdentifier(store), after: known,
          isOver: { Task.isCancelled || store.isOver }
        ) { continuation.resume(returning: $0) }
      }
    } onCancel: {
      signal.cancel(id)
    }
  }

  /// Registers with the signal of the store's current core, and returns the signal.
  ///
  /// The signal can change, because a private core is replaced once another process has opened the
  /// store for writing.
  private func presentSignal() -> CommitSignal {
    let present = store.core.signal
    let former = lock.withLock { () -> CommitSignal? in
      guard signal !== present else { return nil }
      present.addObserver()
      defer { signal = present }
      return signal
    }
    former?.removeObserver()
    return present
  }
}
