import Foundation
import Synchronization

/// The newest place in the history of a container's stores, whenever anybody has written to one:
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
/// Nothing is lost: who comes back late is given the newest token at once. What was written
/// meanwhile counts as one, and so does it that a store was added. A commit that is not in the
/// history, since it has changed no object or ``ContainerOptions/tracksHistory`` is off, gives the
/// same token again; what has changed then, ``PersistentContainer/changes(from:to:)`` says.
public struct RemoteChanges: AsyncSequence, Sendable {
  /// The newest place in the history.
  public typealias Element = PersistentHistoryToken
  /// Waiting cannot fail.
  public typealias Failure = Never

  private let group: StoreGroup
  private let known: [(member: StoreGroup.Member, commits: Commits)]

  init(_ group: StoreGroup) {
    self.group = group
    known = group.members.map { ($0, $0.store.commits()) }
  }

  /// Each iterator gets all changes since the sequence was made.
  public func makeAsyncIterator() -> Iterator {
    let listener = CommitListeners(group)
    for (member, commits) in known { listener.listen(to: commits, of: member) }
    return Iterator(listener: listener)
  }

  /// Waits for changes.
  public struct Iterator: AsyncIteratorProtocol {
    private let listener: CommitListeners
    private var bell: AsyncStream<Void>.Iterator
    /// The generation of each store that the last token was of.
    private var shown: [UUID: Generation] = [:]

    fileprivate init(listener: CommitListeners) {
      self.listener = listener
      bell = listener.bell.makeAsyncIterator()
    }

    /// Waits for the next change.
    ///
    /// - Returns: `nil` when the task is cancelled, the stores are closed, or a history cannot be
    ///   read. Then fetching that says why.
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

    /// The newest place in all histories; `nil` if one of them cannot be read.
    private mutating func newestToken(
      isolation actor: isolated (any Actor)?
    ) async -> PersistentHistoryToken? {
      var places: [UUID: Int64] = [:]
      for member in listener.group.members {
        let store = member.model.space.store
        guard let snapshot = await Self.newest(of: member.store) else {
          // One that was removed just now is not missed.
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

    /// How often to look whether a store that was suspended meanwhile is resumed.
    private static let lookNanoseconds: UInt64 = 100_000_000

    /// The newest generation; `nil` if there will be none any more.
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

/// Listens to the commits of all stores of a container, for one who waits.
private final class CommitListeners: Sendable {
  /// A store that is listened to.
  private struct Ear {
    let model: StoreModel
    /// `nil` if there will be no commit any more.
    var task: Task<Void, Never>?
  }

  private struct Content {
    var ears: [Ear] = []
    /// The newest generations that were not asked for yet.
    var news: [UUID: Generation] = [:]
  }

  /// What tasks write to, which do not hold what holds them.
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
  /// Rings when there is something to look at; once is as good as often.
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

  /// Listens to a store until it is closed, or nobody wants to know.
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

  /// Listens to stores that were added, and no more to those that were removed.
  ///
  /// - Returns: Whether one was added.
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

  /// The commits since this was asked last.
  func takeNews() -> [UUID: Generation] {
    board.content.withLock { content in
      defer { content.news = [:] }
      return content.news
    }
  }
}

extension PersistentContainer {
  /// A token after every write from now on, of any context, container or process.
  ///
  /// See ``RemoteChanges`` for what is promised.
  ///
  /// - Complexity: Two lookups in each store for each element.
  public var remoteChanges: RemoteChanges { RemoteChanges(group) }
}
