import Synchronization

/// Something that has happened to the objects of a context.
public struct ContextChange: Sendable {
  /// What it was.
  public enum Kind: Hashable, Sendable {
    /// A save is about to write what was changed; new objects have temporary IDs still.
    case willSave
    /// A save has succeeded.
    case didSave
    /// Objects were changed by the program, or read again.
    case objectsDidChange
  }

  /// What it was.
  public internal(set) var kind: Kind
  /// Objects that are new.
  public internal(set) var inserted: Set<ManagedObjectID> = []
  /// Objects that were changed, again or for the first time; new ones are new, whatever is changed
  /// in them.
  public internal(set) var updated: Set<ManagedObjectID> = []
  /// Objects that were deleted.
  public internal(set) var deleted: Set<ManagedObjectID> = []
  /// Objects that show what others have saved, or will when they are used next.
  public internal(set) var refreshed: Set<ManagedObjectID> = []
  /// The generation a save has made; `nil` in a context below another, and at other times.
  public internal(set) var generation: QueryGenerationToken?

  fileprivate mutating func add(_ other: ContextChange) {
    inserted.formUnion(other.inserted)
    updated.formUnion(other.updated)
    deleted.formUnion(other.deleted)
    refreshed.formUnion(other.refreshed)
  }
}

extension ManagedObjectContext {
  /// What happens in the context from now on, for one listener, on whatever thread.
  ///
  /// Changes of objects that come one after the other while nobody asks are given as one; saves are
  /// not. It ends with the context, and with the task that waits.
  ///
  /// ```swift
  /// let changes = context.changes
  /// Task { for await change in changes where change.kind == .didSave { … } }
  /// ```
  ///
  /// - Complexity: One entry of a set for each object that changes, while somebody listens.
  public var changes: some AsyncSequence<ContextChange, Never> & Sendable {
    let listener = ContextListener()
    listeners.removeAll { $0.listener == nil }
    listeners.append(WeakListener(listener: listener))
    for part in others { part.listeners = listeners }
    return ContextChanges(listener: listener)
  }

  /// One who listens, for as long as somebody holds him.
  struct WeakListener {
    weak var listener: ContextListener?
  }

  /// Tells those who listen; the change is not put together if nobody does.
  func tell(_ change: @autoclosure () -> ContextChange) {
    guard !listeners.isEmpty else { return }
    let change = change()
    for place in listeners { place.listener?.tell(change) }
  }

  /// Tells that an object was changed.
  func tell(_ set: WritableKeyPath<ContextChange, Set<ManagedObjectID>>, _ object: ManagedObject) {
    if isFollowed { tellFollowers(of: object, isRefreshed: set == \.refreshed) }
    observer?.note(object)
    guard !listeners.isEmpty else { return }
    var change = ContextChange(kind: .objectsDidChange)
    change[keyPath: set] = [ManagedObjectID(object.number, model.space)]
    tell(change)
  }

  /// What a save is about to write.
  var pendingChange: ContextChange {
    func ids(_ objects: ObjectList) -> Set<ManagedObjectID> {
      Set(objects.all.map { ManagedObjectID($0.number, model.space) })
    }
    return ContextChange(
      kind: .willSave, inserted: ids(inserted), updated: ids(updated), deleted: ids(deleted))
  }
}

/// What has happened and was not asked for yet.
final class ContextListener: Sendable {
  private let waiting = Mutex<[ContextChange]>([])
  fileprivate let bell: AsyncStream<Void>
  private let ringer: AsyncStream<Void>.Continuation

  fileprivate init() {
    // One ring is as good as many: who hears it takes all there is.
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

  /// Nothing will happen any more.
  func end() { ringer.finish() }

  fileprivate func take() -> ContextChange? {
    waiting.withLock { $0.isEmpty ? nil : $0.removeFirst() }
  }
}

/// What happens in a context.
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
        // What came between the look and the end is given still.
        guard await bell.next(isolation: actor) != nil else { return listener.take() }
      }
    }
  }
}
