/// The newest place in the history of a store, whenever anybody has written to it: this container,
/// another one, or another process.
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
/// meanwhile counts as one. A commit that is not in the history, since it has changed no object or
/// ``ContainerOptions/tracksHistory`` is off, gives the same token again; what has changed then,
/// ``PersistentContainer/changes(from:to:)`` says.
public struct RemoteChanges: AsyncSequence, Sendable {
  /// The newest place in the history.
  public typealias Element = PersistentHistoryToken
  /// Waiting cannot fail.
  public typealias Failure = Never

  private let commits: Commits
  private let store: Store
  private let model: StoreModel

  init(_ store: Store, _ model: StoreModel) {
    commits = store.commits()
    self.store = store
    self.model = model
  }

  /// Each iterator gets all changes since the sequence was made.
  public func makeAsyncIterator() -> Iterator {
    Iterator(commits: commits.makeAsyncIterator(), store: store, model: model)
  }

  /// Waits for changes.
  public struct Iterator: AsyncIteratorProtocol {
    fileprivate var commits: Commits.Iterator
    fileprivate let store: Store
    fileprivate let model: StoreModel
    private var shown: Generation?

    fileprivate init(commits: Commits.Iterator, store: Store, model: StoreModel) {
      self.commits = commits
      self.store = store
      self.model = model
    }

    /// Waits for the next change.
    ///
    /// - Returns: `nil` when the task is cancelled, the store is closed, or its history cannot be
    ///   read. Then fetching that says why.
    public mutating func next(
      isolation actor: isolated (any Actor)? = #isolation
    ) async -> PersistentHistoryToken? {
      while let generation = await commits.next(isolation: actor) {
        // Shown already with an earlier one.
        if let shown, generation <= shown { continue }
        guard let snapshot = await Self.newest(of: store) else { return nil }
        shown = snapshot.generation
        let none = PersistentHistoryToken(store: model.space.store, sequence: 0)
        return try? HistoryReader(snapshot, model).newestToken() ?? none
      }
      return nil
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

extension PersistentContainer {
  /// A token after every write from now on, of any context, container or process.
  ///
  /// See ``RemoteChanges`` for what is promised.
  ///
  /// - Complexity: Two lookups in the store for each element.
  public var remoteChanges: RemoteChanges { RemoteChanges(store, model) }
}
