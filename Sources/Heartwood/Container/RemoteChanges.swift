import Foundation
import Synchronization

/// A sequence that yields the newest history token after each commit to a container's stores,
/// including commits by other containers and processes.
///
/// ```swift
/// for await _ in container.remoteChanges {
///   for transaction in try container.fetchHistory(after: token) {
///     try context.mergeChanges(from: transaction)
///     token = transaction.token
///   }
/// }
/// ```
///
/// No change is missed: a loop that falls behind receives the newest token immediately. Several
/// commits between two iterations of the loop are combined into one element. Adding a store also
/// yields an element. If a commit changed no object, or if ``ContainerOptions/tracksHistory`` is
/// `false`, the commit is not in the history and yields the same token again. Without the history,
/// use ``PersistentContainer/changes(from:to:)`` to find the changes.
public struct RemoteChanges: AsyncSequence, Sendable {
  /// A token for the newest position in the history.
  public typealias Element = PersistentHistoryToken
  /// The error type of the sequence, which indicates that the sequence never throws.
  public typealias Failure = Never

  private let group: StoreGroup
  private let known: [(attached: StoreGroup.AttachedStore, commits: Commits)]

  init(_ group: StoreGroup) {
    self.group = group
    known = group.attachedStores.map { ($0, $0.store.commits()) }
  }

  /// Creates an iterator that reports all changes since the sequence was created.
  public func makeAsyncIterator() -> Iterator {
    let observers = CommitObservers(group)
    for (attached, commits) in known { observers.observe(commits, of: attached) }
    return Iterator(observers: observers)
  }

  /// An iterator that waits for changes.
  public struct Iterator: AsyncIteratorProtocol {
    private let observers: CommitObservers
    private var wakeups: AsyncStream<Void>.Iterator
    /// The newest generation of each store at the time when the iterator last returned a token.
    private var shown: [UUID: Generation] = [:]

    fileprivate init(observers: CommitObservers) {
      self.observers = observers
      wakeups = observers.wakeups.makeAsyncIterator()
    }

    /// Waits for the next change.
    ///
    /// - Returns: The newest token, or `nil` if the task is cancelled, the stores are closed, or
    ///   the history cannot be read. In the last case, fetching the history throws the error.
    public mutating func next(
      isolation actor: isolated (any Actor)? = #isolation
    ) async -> PersistentHistoryToken? {
      repeat {
        let isNew = observers.update()
        let isCommitted = observers.takeNewGenerations().contains { store, generation in
          shown[store].map { generation > $0 } ?? true
        }
        if isNew || isCommitted { return await newestToken(isolation: actor) }
        guard observers.isObserving else { break }
      } while await wakeups.next(isolation: actor) != nil
      return nil
    }

    /// Returns a token for the newest position in each store's history, or `nil` if a history is
    /// unreadable.
    private mutating func newestToken(
      isolation actor: isolated (any Actor)?
    ) async -> PersistentHistoryToken? {
      var positions: [UUID: HistoryPosition] = [:]
      for attached in observers.group.attachedStores {
        let store = attached.model.space.store
        guard let snapshot = await Self.newest(of: attached.store) else {
          // Skip the store if it has since been removed.
          if attached.model.isRemoved { continue }
          return nil
        }
        shown[store] = snapshot.generation
        do {
          positions[store] = try HistoryReader(snapshot, attached.model).newestPosition()
        } catch {
          return nil
        }
      }
      return PersistentHistoryToken(positions)
    }

    /// The time between two checks of a suspended store, in nanoseconds.
    private static let pollNanoseconds: UInt64 = 100_000_000

    /// Returns the newest snapshot of a store.
    ///
    /// If the store is suspended, the method waits until the store is resumed. The method returns
    /// `nil` if the store cannot be read or the task is cancelled.
    private static func newest(of store: Store) async -> Snapshot? {
      repeat {
        do {
          return try store.snapshot()
        } catch {
          guard (error as? StorageError)?.kind == .suspended else { return nil }
        }
      } while (try? await Task.sleep(nanoseconds: pollNanoseconds)) != nil
      return nil
    }
  }
}

/// An object that observes the commits to a container's stores for one iterator.
private final class CommitObservers: Sendable {
  /// An observed store.
  private struct ObservedStore {
    let model: StoreModel
    /// The task that receives the commits, or `nil` if there will be no more commits.
    var task: Task<Void, Never>?
  }

  private struct Content {
    var observedStores: [ObservedStore] = []
    /// The newest generation of each store that has commits the iterator has not received yet.
    var newGenerations: [UUID: Generation] = [:]
  }

  /// The state that the tasks write to.
  ///
  /// The state is a separate object so that the tasks do not retain the `CommitObservers`.
  private final class SharedState: Sendable {
    let content = Mutex(Content())

    func end(_ model: StoreModel) {
      content.withLock { content in
        for position in content.observedStores.indices
        where content.observedStores[position].model === model {
          content.observedStores[position].task = nil
        }
      }
    }
  }

  let group: StoreGroup
  /// A stream that signals pending changes.
  ///
  /// Multiple pending signals have the same effect as one.
  let wakeups: AsyncStream<Void>
  private let waker: AsyncStream<Void>.Continuation
  private let state = SharedState()
  private let observation: UInt64

  init(_ group: StoreGroup) {
    self.group = group
    let (wakeups, waker) = AsyncStream.makeStream(
      of: Void.self, bufferingPolicy: .bufferingNewest(1))
    (self.wakeups, self.waker) = (wakeups, waker)
    observation = group.observe { waker.yield() }
  }

  deinit {
    group.endObservation(observation)
    for observed in state.content.withLock({ $0.observedStores }) { observed.task?.cancel() }
  }

  /// A Boolean value that indicates whether any observed store can still receive commits.
  var isObserving: Bool { state.content.withLock { $0.observedStores.contains { $0.task != nil } } }

  /// Observes a store until it is closed or the observation is cancelled.
  func observe(_ commits: Commits, of attached: StoreGroup.AttachedStore) {
    let model = attached.model
    state.content.withLock { content in
      let task = Task.detached { [state, waker] in
        for await generation in commits {
          state.content.withLock { $0.newGenerations[model.space.store] = generation }
          waker.yield()
        }
        state.end(model)
        waker.yield()
      }
      content.observedStores.append(ObservedStore(model: model, task: task))
    }
  }

  /// Starts observing added stores, and stops observing removed stores.
  ///
  /// - Returns: `true` if a store was added.
  func update() -> Bool {
    let attachedStores = group.attachedStores
    let added = state.content.withLock { content in
      for observed in content.observedStores
      where !attachedStores.contains(where: { $0.model === observed.model }) {
        observed.task?.cancel()
      }
      content.observedStores.removeAll { observed in
        !attachedStores.contains { $0.model === observed.model }
      }
      return attachedStores.filter { attached in
        !content.observedStores.contains { $0.model === attached.model }
      }
    }
    for attached in added { observe(attached.store.commits(), of: attached) }
    return !added.isEmpty
  }

  /// Returns the newest generation of each store that has had commits since the last call.
  func takeNewGenerations() -> [UUID: Generation] {
    state.content.withLock { content in
      defer { content.newGenerations = [:] }
      return content.newGenerations
    }
  }
}

extension PersistentContainer {
  /// A sequence that yields a history token after each later commit by any context, container or
  /// process.
  ///
  /// See ``RemoteChanges`` for the guarantees of the sequence.
  ///
  /// - Complexity: Two lookups in each store for each element.
  public var remoteChanges: RemoteChanges { RemoteChanges(group) }
}
