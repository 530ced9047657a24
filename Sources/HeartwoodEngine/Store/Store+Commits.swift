extension Store {
  /// The commits from now on, of this and of all other processes.
  ///
  /// Gives the newest generation each time there is one that is newer than the last one it gave;
  /// commits that come while nobody asks are given as one. It ends when the store is closed or the
  /// task that waits is cancelled, and keeps the store open until then.
  ///
  /// ```swift
  /// for await generation in store.commits() {
  ///   try show(store.snapshot())
  /// }
  /// ```
  ///
  /// Other processes wake this one through the file system, and only while somebody listens. What
  /// gets lost on the way, because its sender died, comes within a second.
  ///
  /// - Complexity: Without listeners a commit costs nothing more than a look at a clock, and one
  ///   question about a lock in a tenth of a second.
  public func commits() -> Commits {
    Commits(store: self, known: files.origin.isInherited ? 0 : newestGeneration)
  }

  /// The newest visible generation this opening knows of.
  private var newestGeneration: FrameNumber { max(files.words.committed, table.visible.generation) }
}

/// The newest generation of a store, whenever there is a newer one.
public struct Commits: AsyncSequence, Sendable {
  /// The newest generation at some moment.
  public typealias Element = Generation
  /// Waiting cannot fail.
  public typealias Failure = Never

  fileprivate let store: Store
  fileprivate let known: FrameNumber

  /// Each iterator gets all commits since the sequence was made.
  public func makeAsyncIterator() -> Iterator {
    Iterator(listener: CommitListener(store), known: known)
  }

  /// Waits for commits.
  public struct Iterator: AsyncIteratorProtocol {
    fileprivate let listener: CommitListener
    fileprivate var known: FrameNumber

    /// Waits for a newer generation; `nil` when the store is closed or the task cancelled.
    public mutating func next(
      isolation actor: isolated (any Actor)? = #isolation
    ) async -> Generation? {
      guard let newest = await listener.next(after: known) else { return nil }
      known = newest
      return Generation(frame: newest)
    }
  }
}

/// One who listens for as long as it lives.
private final class CommitListener: @unchecked Sendable {
  // @unchecked because `signal` is guarded by `lock`.
  private let store: Store
  private let lock = Lock()
  private var signal: CommitSignal?

  init(_ store: Store) {
    self.store = store
    if !store.files.origin.isInherited, !store.core.isPrivate { _ = presentSignal() }
  }

  deinit { if !store.files.origin.isInherited { signal?.leave() } }

  /// How often to look at a store that nobody has written to since the machine was started: who
  /// begins to cannot know that somebody reads.
  private static let lookNanoseconds: UInt64 = 250_000_000

  func next(after known: FrameNumber) async -> FrameNumber? {
    guard !store.files.origin.isInherited else { return nil }
    while store.core.isPrivate {
      do {
        let found = try store.snapshot().generation.frame
        if found > known { return found }
      } catch {
        guard (error as? StorageError)?.kind == .suspended else { return nil }
      }
      do { try await Task.sleep(nanoseconds: Self.lookNanoseconds) } catch { return nil }
    }
    let signal = presentSignal()
    let number = signal.nextNumber()
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        signal.wait(
          number, for: ObjectIdentifier(store), after: known,
          isOver: { Task.isCancelled || store.isOver }
        ) { continuation.resume(returning: $0) }
      }
    } onCancel: {
      signal.giveUp(number)
    }
  }

  /// The signal of the store as it is open now; a core that read alone may have been exchanged.
  private func presentSignal() -> CommitSignal {
    let present = store.core.signal
    let former = lock.withLock { () -> CommitSignal? in
      guard signal !== present else { return nil }
      present.enter()
      defer { signal = present }
      return signal
    }
    former?.leave()
    return present
  }
}
