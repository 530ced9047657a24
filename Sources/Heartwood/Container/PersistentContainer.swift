import Dispatch
public import Foundation
import Synchronization

/// How a container is made.
public struct ContainerOptions: Sendable {
  /// Whether the store is in memory only, and ends with the container.
  public var inMemory = false
  /// Whether each save is written down in the history.
  public var tracksHistory = true
  /// How the store is opened.
  public var store = StoreOptions()
  /// What the program does on the way from earlier versions of the model, in their order.
  public var stages: [MigrationStage] = []
  /// Told how far the store has come, every thousand rows or so, while it is opened.
  public var progress: (@Sendable (MigrationProgress) -> Void)?

  /// The options most programs want.
  public init() {}
}

/// A model and a store: where contexts come from.
///
/// ```swift
/// let container = try PersistentContainer(url: url, schema: Schema(Note.self))
/// let context = container.newContext()
/// ```
///
/// ``addStore(url:entities:)`` adds stores, each with classes of its own.
public final class PersistentContainer: Sendable {
  /// The store it was made with.
  public var store: Store { group.first.store }
  /// The stores it has: that one, unless it was removed, and those that were added, in their order.
  public var stores: [Store] { group.members.map(\.store) }
  let group: StoreGroup
  /// The version of the schema, which counts for all stores.
  let version: Int
  let options: ContainerOptions
  @MainActor private var view: ViewContext?
  /// What has the view context merge as soon as others have saved; cancelled with the container.
  private let viewFollower = Mutex<Task<Void, Never>?>(nil)

  /// Opens a store, or makes one, and brings it up to the model.
  ///
  /// What that needs is done in one transaction, which has happened as a whole or not at all. Of
  /// two who do it at the same time, the other waits and finds it done.
  ///
  /// - Parameters:
  ///   - url: The folder of the store.
  ///   - schema: The model.
  ///   - options: How to open it.
  /// - Throws: `invalidModel` with everything that is wrong with the classes; `incompatibleSchema`,
  ///   naming what the store has otherwise; what a stage throws; a `StorageError` if the store
  ///   cannot be opened, `readOnly` if it had to be changed and must not.
  /// - Complexity: None but to read the model, if the store is of it. Otherwise each row of an
  ///   entity is read once for each index, relationship or derived attribute that is new or other.
  public convenience init(
    url: URL, schema: Schema, options: ContainerOptions = ContainerOptions()
  ) throws {
    try schema.requireValid()
    let store =
      options.inMemory
      ? try Store.inMemory(options: options.store)
      : try Store(at: url.path(percentEncoded: false), options: options.store)
    try self.init(store: store, url: url, schema: schema, options: options)
  }

  /// Opens a store as ``init(url:schema:options:)`` does, on a thread of its own.
  ///
  /// Bringing a large store up to a new model takes a while.
  public static func open(
    url: URL, schema: Schema, options: ContainerOptions = ContainerOptions()
  ) async throws -> PersistentContainer {
    try await withCheckedThrowingContinuation { continuation in
      DispatchQueue.global().async {
        continuation.resume(
          with: Result {
            try PersistentContainer(url: url, schema: schema, options: options)
          })
      }
    }
  }

  /// Makes a container whose store is in memory.
  ///
  /// - Parameters:
  ///   - name: Containers of the same name in this process share a store, which ends with the last
  ///     one; without a name it is this container's own.
  ///   - schema: The model.
  /// - Throws: `invalidModel` with everything that is wrong with the classes.
  public static func inMemory(
    name: String? = nil, schema: Schema
  ) throws -> PersistentContainer {
    try schema.requireValid()
    let store = try name.map { try NamedStores.store($0) } ?? Store.inMemory()
    var options = ContainerOptions()
    options.inMemory = true
    return try PersistentContainer(store: store, schema: schema, options: options)
  }

  /// Makes a container of a store that is open.
  package init(
    store: Store, url: URL? = nil, schema: Schema, options: ContainerOptions = ContainerOptions()
  ) throws {
    try schema.requireValid()
    let model = try StoreOpening(store: store, schema: schema, options: options).run()
    group = StoreGroup(StoreGroup.Member(url: url, store: store, model: model))
    version = schema.version
    self.options = options
  }

  deinit { viewFollower.withLock { $0?.cancel() } }

  /// The context of the main actor: what a user interface shows.
  ///
  /// If it merges automatically, it does so as soon as the main actor is free after others have
  /// saved, and not only when it fetches.
  @MainActor public var viewContext: ManagedObjectContext {
    if let view { return view.context }
    let new = newContext()
    new.automaticMergingChanged = { [weak self] isOn in self?.followForView(isOn) }
    new.scheduleProcessing = { [weak self] in
      Task { @MainActor in self?.view?.context.processPendingChanges() }
    }
    view = ViewContext(new)
    return new
  }

  private func followForView(_ isWanted: Bool) {
    viewFollower.withLock { follower in
      follower?.cancel()
      follower = nil
      guard isWanted else { return }
      let changes = remoteChanges
      follower = Task { @MainActor [weak self] in
        for await _ in changes { self?.view?.context.mergePromptly() }
      }
    }
  }

  /// A context of its own, for the caller to use by one thread at a time.
  public func newContext() -> sending ManagedObjectContext {
    ManagedObjectContext(group)
  }

  /// A context with a thread of its own.
  public func newBackgroundContext() -> BackgroundContext { BackgroundContext(newContext()) }

  /// Runs `body` with a new context on a thread of its own.
  ///
  /// Objects stay there; return IDs or values.
  ///
  /// - Parameters:
  ///   - author: Who makes the changes, for the history.
  ///   - token: The generation the context reads; the newest one at each read if it is `nil`.
  ///   - body: The work; what it does not save is lost.
  /// - Returns: What `body` returns.
  /// - Throws: What `body` throws; `generationExpired` or `foreignStore`.
  public func performBackgroundTask<R: Sendable>(
    author: String? = nil, pinnedTo token: QueryGenerationToken? = nil,
    _ body: @Sendable (ManagedObjectContext) throws -> R
  ) async throws -> R {
    try await newBackgroundContext().perform { context in
      context.transactionAuthor = author
      try context.setQueryGenerationFrom(token)
      return try body(context)
    }
  }
}

/// The context of the main actor, which ends there wherever its container does: what becomes of its
/// objects then is theirs to see.
@MainActor private final class ViewContext {
  let context: ManagedObjectContext

  init(_ context: ManagedObjectContext) { self.context = context }

  isolated deinit {}
}
