import Foundation
import Synchronization

/// The sequence of the newest history tokens after each commit to any of a container's stores: by
/// this container, another one, or another process.
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
/// No change is lost: a late iteration receives the newest token immediately. Several commits in
/// between are combined into one element; adding a store counts like a commit. A commit that is not
/// in the history, because it changed no object or ``ContainerOptions/tracksHistory`` is off,
/// yields the same token again; ``PersistentContainer/changes(from:to:)`` then finds the changes.
public struct RemoteChanges: AsyncSequence, Sendable {
  /// The newest position in the history.
  public typealias Element = PersistentHistoryToken
  /// The sequence never throws.
  public typealias Failure = Never

  private let group: StoreGroup
  private let known: [(member: StoreGroup.Member, commits: Commits)]

  init(_ group: StoreGroup) {
    self.group = group
    known = group.members.map { ($0, $0.store.commits()) }
  }

  /// Creates an iterator, which reports all changes since the sequence was created.
  public func makeAsyncIterator() -> Iterator {
    let listener = CommitListeners(group)
    for (member, commits) in known { listener.listen(to: commits, of: member) }
    return Iterator(listener: listener)
  }

  /// An iterator that waits for changes.
  public struct Iterator: AsyncIteratorProtocol {
    private let listener: CommitListeners
    private var bell: AsyncStream<Void>.Iterator
    /// The generation of each store at the last token.
    private var shown: [UUID: Generation] = [:]

    fileprivate init(listener: CommitListeners) {
      self.listener = listener
      bell = listener.bell.makeAsyncIterator()
    }

    /// Waits for the next change.
    ///
    /// - Returns: `nil` if the task is cancelled, the stores are closed, or the history cannot be
    ///   read. In the last case, fetching the history throws the error.
    public mutating func next(
      isolation actor: isolated (any Actor)? = #isolation
    ) async -> PersistentHistoryToken? {
      while true {
        let isNew = listener.update()
        let news = listener.takeNews().contains { store, generation in
          shown[store].map { generation > $0 } ?? true
        }
        if isNew || news { return await newestToken(isolation: actor) }
        guard listener.isListening, await bell.next(isolation: actor) != nil else { return nil }
      }
    }

    /// Returns the newest position in all histories; `nil` if one of them cannot be read.
    private mutating func newestToken(
      isolation actor: isolated (any Actor)?
    ) async -> PersistentHistoryToken? {
      var places: [UUID: Int64] = [:]
      for member in listener.group.members {
        let store = member.model.space.store
        guard let snapshot = await Self.newest(of: member.store) else {
          // A store that was removed meanwhile is skipped.
          if member.model.isRemoved { continue }
          return nil
        }
        shown[store] = snapshot.generation
        do {
          let token = try HistoryReader(snapshot, member.model).newestToken()
          places[store] = token?.sequence(of: store) ?? 0
        } catch {
          return nil
        }
      }
      return PersistentHistoryToken(places)
    }

    /// The interval between checks whether a suspended store was resumed.
    private static let lookNanoseconds: UInt64 = 100_000_000

    /// Returns the newest generation; `nil` if there will be no more.
    private static func newest(of store: Store) async -> Snapshot? {
      while true {
        do {
          return try store.snapshot()
        } catch {
          guard (error as? StorageError)?.kind == .suspended else { return nil }
        }
        do { try await Task.sleep(nanoseconds: lookNanoseconds) } catch { return nil }
      }
    }
  }
}

/// Observes the commits of all stores of a container, for one iterator.
private final class CommitListeners: Sendable {
  /// An observed store.
  private struct Ear {
    let model: StoreModel
    /// `nil` if there will be no more commits.
    var task: Task<Void, Never>?
  }

  private struct Content {
    var ears: [Ear] = []
    /// The newest generations that the iterator has not received yet.
    var news: [UUID: Generation] = [:]
  }

  /// The state that tasks write to; it does not retain the object that owns the tasks.
  private final class Board: Sendable {
    let content = Mutex(Content())

    func end(_ model: StoreModel) {
      content.withLock { content in
        for position in content.ears.indices where content.ears[position].model === model {
          content.ears[position].task = nil
        }
      }
    }
  }

  let group: StoreGroup
  /// Signals pending changes; several signals are equivalent to one.
  let bell: AsyncStream<Void>
  private let ringer: AsyncStream<Void>.Continuation
  private let board = Board()
  private let watch: UInt64

  init(_ group: StoreGroup) {
    self.group = group
    let (bell, ringer) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    (self.bell, self.ringer) = (bell, ringer)
    watch = group.watch { ringer.yield() }
  }

  deinit {
    group.endWatch(watch)
    for ear in board.content.withLock({ $0.ears }) { ear.task?.cancel() }
  }

  /// Whether any store can still have commits.
  var isListening: Bool { board.content.withLock { $0.ears.contains { $0.task != nil } } }

  /// Observes a store until it is closed or the observation is cancelled.
  func listen(to commits: Commits, of member: StoreGroup.Member) {
    let model = member.model
    board.content.withLock { content in
      let task = Task.detached { [board, ringer] in
        for await generation in commits {
          board.content.withLock { $0.news[model.space.store] = generation }
          ringer.yield()
        }
        board.end(model)
        ringer.yield()
      }
      content.ears.append(Ear(model: model, task: task))
    }
  }

  /// Starts to observe added stores, and stops observing removed ones.
  ///
  /// - Returns: Whether a store was added.
  func update() -> Bool {
    let members = group.members
    let added = board.content.withLock { content in
      for ear in content.ears where !members.contains(where: { $0.model === ear.model }) {
        ear.task?.cancel()
      }
      content.ears.removeAll { ear in !members.contains { $0.model === ear.model } }
      return members.filter { member in !content.ears.contains { $0.model === member.model } }
    }
    for member in added { listen(to: member.store.commits(), of: member) }
    return !added.isEmpty
  }

  /// Returns the commits since the last call.
  func takeNews() -> [UUID: Generation] {
    board.content.withLock { content in
      defer { content.news = [:] }
      return content.news
    }
  }
}

extension PersistentContainer {
  /// The history tokens after every commit from now on, by any context, container or process.
  ///
  /// See ``RemoteChanges`` for its guarantees.
  ///
  /// - Complexity: Two lookups in each store for each element.
  public var remoteChanges: RemoteChanges { RemoteChanges(group) }
}
