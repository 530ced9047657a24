import Synchronization

/// A change of the objects of a context.
public struct ContextChange: Sendable {
  /// The kind of a change.
  public enum Kind: Hashable, Sendable {
    /// A save is about to write changes; new objects still have temporary IDs.
    case willSave
    /// A save has succeeded.
    case didSave
    /// The program changed objects, or objects were read again.
    case objectsDidChange
  }

  /// The kind of the change.
  public internal(set) var kind: Kind
  /// The inserted objects.
  public internal(set) var inserted: Set<ManagedObjectID> = []
  /// The updated objects; a new object is never in it, whatever changes.
  public internal(set) var updated: Set<ManagedObjectID> = []
  /// The deleted objects.
  public internal(set) var deleted: Set<ManagedObjectID> = []
  /// The objects that show the saved changes of other contexts, now or at their next use.
  public internal(set) var refreshed: Set<ManagedObjectID> = []
  /// The generation created by a save; `nil` in a child context, and for other kinds.
  public internal(set) var generation: QueryGenerationToken?

  fileprivate mutating func add(_ other: ContextChange) {
    inserted.formUnion(other.inserted)
    updated.formUnion(other.updated)
    deleted.formUnion(other.deleted)
    refreshed.formUnion(other.refreshed)
  }
}

extension ManagedObjectContext {
  /// The changes of the context from now on, for one observer, on any thread.
  ///
  /// Consecutive changes of objects that the observer has not yet received are combined into one;
  /// saves are not. The sequence ends with the context, and with the task that awaits it.
  ///
  /// ```swift
  /// let changes = context.changes
  /// Task { for await change in changes where change.kind == .didSave { … } }
  /// ```
  ///
  /// - Complexity: One set entry for each changed object, while there is an observer.
  public var changes: some AsyncSequence<ContextChange, Never> & Sendable {
    let listener = ContextListener()
    listeners.removeAll { $0.listener == nil }
    listeners.append(WeakListener(listener: listener))
    for part in others { part.listeners = listeners }
    return ContextChanges(listener: listener)
  }

  /// A weak reference to an observer.
  struct WeakListener {
    weak var listener: ContextListener?
  }

  /// Notifies the observers; the change is not computed if there are none.
  func tell(_ change: @autoclosure () -> ContextChange) {
    guard !listeners.isEmpty else { return }
    let change = change()
    for place in listeners { place.listener?.tell(change) }
  }

  /// Notifies the observers of a changed object.
  func tell(_ set: WritableKeyPath<ContextChange, Set<ManagedObjectID>>, _ object: ManagedObject) {
    if isFollowed { tellFollowers(of: object, isRefreshed: set == \.refreshed) }
    observer?.note(object)
    guard !listeners.isEmpty else { return }
    var change = ContextChange(kind: .objectsDidChange)
    change[keyPath: set] = [ManagedObjectID(object.number, model.space)]
    tell(change)
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

/// The changes that an observer has not yet received.
final class ContextListener: Sendable {
  private let waiting = Mutex<[ContextChange]>([])
  fileprivate let bell: AsyncStream<Void>
  private let ringer: AsyncStream<Void>.Continuation

  fileprivate init() {
    // One signal suffices: a woken observer takes all pending changes.
    (bell, ringer) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
  }

  func tell(_ change: ContextChange) {
    waiting.withLock { waiting in
      if change.kind == .objectsDidChange, waiting.last?.kind == .objectsDidChange {
        waiting[waiting.count - 1].add(change)
      } else {
        waiting.append(change)
      }
    }
    ringer.yield()
  }

  /// Ends the sequence.
  func end() { ringer.finish() }

  fileprivate func take() -> ContextChange? {
    waiting.withLock { $0.isEmpty ? nil : $0.removeFirst() }
  }
}

/// The sequence of a context's changes.
private struct ContextChanges: AsyncSequence, Sendable {
  let listener: ContextListener

  func makeAsyncIterator() -> Iterator {
    Iterator(listener: listener, bell: listener.bell.makeAsyncIterator())
  }

  struct Iterator: AsyncIteratorProtocol {
    let listener: ContextListener
    var bell: AsyncStream<Void>.Iterator

    mutating func next(
      isolation actor: isolated (any Actor)? = #isolation
    ) async -> ContextChange? {
      while true {
        if let change = listener.take() { return change }
        // Returns changes that arrived after the check above and before the end.
        guard await bell.next(isolation: actor) != nil else { return listener.take() }
      }
    }
  }
}
