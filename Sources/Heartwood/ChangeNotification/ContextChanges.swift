import Synchronization

/// A change to the objects of a context.
public struct ContextChange: Sendable {
  /// The kind of a change.
  public enum Kind: Hashable, Sendable {
    /// A save is about to write changes; new objects still have temporary IDs.
    case willSave
    /// A save has succeeded.
    case didSave
    /// Your code changed objects, or the context reread objects.
    case objectsDidChange
  }

  /// The kind of the change.
  public internal(set) var kind: Kind
  /// The IDs of the inserted objects.
  public internal(set) var inserted: Set<ManagedObjectID> = []
  /// The IDs of the updated objects.
  ///
  /// New objects are never included, even if they change after their insertion.
  public internal(set) var updated: Set<ManagedObjectID> = []
  /// The IDs of the deleted objects.
  public internal(set) var deleted: Set<ManagedObjectID> = []
  /// The IDs of the objects that were reverted, reread or turned into faults.
  public internal(set) var refreshed: Set<ManagedObjectID> = []
  /// The IDs of the objects in which a save changed only derived attributes.
  ///
  /// ``updated`` does not include these objects, but a context that merges the save rereads them.
  var derived: Set<ManagedObjectID> = []
  /// The generation created by the save.
  ///
  /// The property is `nil` unless the change is a ``Kind/didSave`` change. It is also `nil` in a
  /// child context, or if the generation no longer exists.
  public internal(set) var generation: QueryGenerationToken?

  fileprivate mutating func add(_ other: ContextChange) {
    inserted.formUnion(other.inserted)
    updated.formUnion(other.updated)
    deleted.formUnion(other.deleted)
    refreshed.formUnion(other.refreshed)
  }
}

extension ManagedObjectContext {
  /// A sequence of all later changes to the context's objects.
  ///
  /// Each access creates a new sequence, which must be used by only one observer. The observer can
  /// run on any thread.
  ///
  /// Consecutive object changes that the observer has not yet received are combined into one
  /// element. Saves are never combined. The sequence ends when the context is deallocated or the
  /// awaiting task is cancelled.
  ///
  /// ```swift
  /// let changes = context.changes
  /// Task { for await change in changes where change.kind == .didSave { … } }
  /// ```
  ///
  /// - Complexity: While an observer exists, each change to an object inserts one element into a
  ///   set.
  public var changes: some AsyncSequence<ContextChange, Never> & Sendable {
    let queue = ContextChangeQueue()
    changeQueues.removeAll { $0.queue == nil }
    changeQueues.append(WeakChangeQueue(queue: queue))
    for storeContext in otherStoreContexts { storeContext.changeQueues = changeQueues }
    return ContextChanges(queue: queue)
  }

  /// A weak reference to an observer's queue.
  struct WeakChangeQueue {
    weak var queue: ContextChangeQueue?
  }

  /// Notifies the observers about a change.
  ///
  /// `change` is evaluated only if there are observers.
  func notifyObservers(of change: @autoclosure () -> ContextChange) {
    guard !changeQueues.isEmpty else { return }
    let change = change()
    for reference in changeQueues { reference.queue?.append(change) }
  }

  /// Notifies the observers that an object has changed.
  ///
  /// - Parameter set: The ``ContextChange`` property to which the object is added, such as
  ///   `\.updated`.
  func notifyObservers(
    of object: ManagedObject, as set: WritableKeyPath<ContextChange, Set<ManagedObjectID>>
  ) {
    if isFollowed { notifyFollowers(of: object, isRefreshed: set == \.refreshed) }
    observer?.recordChange(of: object)
    guard !changeQueues.isEmpty else { return }
    var change = ContextChange(kind: .objectsDidChange)
    change[keyPath: set] = [ManagedObjectID(object.number, model.space)]
    notifyObservers(of: change)
  }

  /// The changes that a save is about to write.
  var pendingChange: ContextChange {
    func ids(_ objects: ObjectList) -> Set<ManagedObjectID> {
      Set(objects.all.map { ManagedObjectID($0.number, model.space) })
    }
    return ContextChange(
      kind: .willSave, inserted: ids(inserted), updated: ids(updated), deleted: ids(deleted))
  }
}

/// A queue of the changes that an observer has not yet received.
final class ContextChangeQueue: Sendable {
  private let waiting = Mutex<[ContextChange]>([])
  fileprivate let wakeups: AsyncStream<Void>
  private let waker: AsyncStream<Void>.Continuation

  fileprivate init() {
    // Buffer only one signal, because an observer takes all pending changes before it waits again.
    (wakeups, waker) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
  }

  func append(_ change: ContextChange) {
    waiting.withLock { waiting in
      if change.kind == .objectsDidChange, waiting.last?.kind == .objectsDidChange {
        waiting[waiting.count - 1].add(change)
      } else {
        waiting.append(change)
      }
    }
    waker.yield()
  }

  /// Ends the sequence.
  func end() { waker.finish() }

  fileprivate func next() -> ContextChange? {
    waiting.withLock { $0.isEmpty ? nil : $0.removeFirst() }
  }
}

/// An asynchronous sequence of a context's changes.
private struct ContextChanges: AsyncSequence, Sendable {
  let queue: ContextChangeQueue

  func makeAsyncIterator() -> Iterator {
    Iterator(queue: queue, wakeups: queue.wakeups.makeAsyncIterator())
  }

  struct Iterator: AsyncIteratorProtocol {
    let queue: ContextChangeQueue
    var wakeups: AsyncStream<Void>.Iterator

    mutating func next(
      isolation actor: isolated (any Actor)? = #isolation
    ) async -> ContextChange? {
      repeat {
        if let change = queue.next() { return change }
      } while await wakeups.next(isolation: actor) != nil
      // The sequence has ended, so return any change that was appended after the queue was last
      // checked.
      return queue.next()
    }
  }
}
