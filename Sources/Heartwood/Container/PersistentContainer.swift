import Dispatch
public import Foundation
import Synchronization

/// Options for a persistent container.
public struct ContainerOptions: Sendable {
  /// A Boolean value that indicates whether the store is kept only in memory and freed with the
  /// container.
  public var isInMemory = false
  /// A Boolean value that indicates whether saves are recorded in the history.
  public var tracksHistory = true
  /// The options with which stores are opened.
  public var store = StoreOptions()
  /// The custom stages for migrations from earlier model versions, in order.
  public var stages: [MigrationStage] = []
  /// A closure that receives the progress of a migration, or `nil`.
  ///
  /// The closure is called about once for every thousand rows, while the store is being opened.
  public var progress: (@Sendable (MigrationProgress) -> Void)?

  /// Creates the default options.
  public init() {}
}

/// A container that holds a model and its stores, and creates the contexts that work with them.
///
/// ```swift
/// let container = try PersistentContainer(url: url, schema: Schema(Note.self))
/// let context = container.newContext()
/// ```
///
/// ``addStore(url:entities:)`` adds further stores, each with its own classes.
public final class PersistentContainer: Sendable {
  /// The store that the container was created with.
  public var store: Store { group.first.store }
  /// The first store, unless it was removed, followed by the added stores in order.
  public var stores: [Store] { group.attachedStores.map(\.store) }
  let group: StoreGroup
  /// The schema version, which applies to all stores.
  let version: Int
  let options: ContainerOptions
  @MainActor private var view: ViewContext?
  /// The task that merges commits by other contexts and processes into the view context.
  ///
  /// The task is cancelled when the container is deallocated.
  private let viewFollower = Mutex<Task<Void, Never>?>(nil)

  /// Opens or creates a store, and migrates it to the model.
  ///
  /// A migration is one transaction, which is applied completely or not at all. If two processes
  /// open a store that needs migration at the same time, the second process waits until the first
  /// has migrated the store.
  ///
  /// - Parameters:
  ///   - url: The directory of the store.
  ///   - schema: The model, to which the store is migrated if necessary.
  ///   - options: The options for opening and migrating the store.
  /// - Throws: `invalidModel`, listing all errors in the classes; `incompatibleSchema`, listing the
  ///   differences from the store's model; an error from a migration stage; a `StorageError` if the
  ///   store cannot be opened, for example `readOnly` if the store requires a migration but must
  ///   not be changed.
  /// - Complexity: If the model is unchanged, only the model is read. Otherwise, each row of an
  ///   entity is read once for each index, relationship or derived attribute that is new or
  ///   changed.
  public convenience init(
    url: URL, schema: Schema, options: ContainerOptions = ContainerOptions()
  ) throws {
    try schema.requireValid()
    let store =
      options.isInMemory
      ? try Store.inMemory(options: options.store)
      : try Store(at: url.path(percentEncoded: false), options: options.store)
    try self.init(store: store, url: url, schema: schema, options: options)
  }

  /// Opens a store like ``init(url:schema:options:)``, but on a separate thread.
  ///
  /// Migrating a large store takes time, so use this method if the caller must not block.
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

  /// Creates a container with an in-memory store.
  ///
  /// - Parameters:
  ///   - name: The name of the store. Containers with the same name in this process share a store,
  ///     which is freed with the last of these containers. Without a name, the store is private to
  ///     this container.
  ///   - schema: The model.
  /// - Throws: `invalidModel`, listing all errors in the classes.
  public static func inMemory(
    name: String? = nil, schema: Schema
  ) throws -> PersistentContainer {
    try schema.requireValid()
    let store = try name.map { try NamedStores.store($0) } ?? Store.inMemory()
    var options = ContainerOptions()
    options.isInMemory = true
    return try PersistentContainer(store: store, schema: schema, options: options)
  }

  /// Creates a container for an open store.
  package init(
    store: Store, url: URL? = nil, schema: Schema, options: ContainerOptions = ContainerOptions()
  ) throws {
    try schema.requireValid()
    let model = try StoreOpening(store: store, schema: schema, options: options).run()
    group = StoreGroup(StoreGroup.AttachedStore(url: url, store: store, model: model))
    version = schema.version
    self.options = options
  }

  /// Creates a container for an open store, using a model that was read from the store.
  init(store: Store, model: StoreModel) {
    group = StoreGroup(StoreGroup.AttachedStore(url: nil, store: store, model: model))
    version = 0
    options = ContainerOptions()
  }

  deinit { viewFollower.withLock { $0?.cancel() } }

  /// The main actor's context, for user interfaces.
  ///
  /// If automatic merging is on, the context does not wait for the next fetch: it merges each
  /// commit by another context or process as soon as the main actor is free.
  @MainActor public var viewContext: ManagedObjectContext {
    if let view { return view.context }
    let new = newContext()
    new.automaticMergingChanged = { [weak self] isOn in self?.mergeIntoView(isOn) }
    new.scheduleProcessing = { [weak self] in
      Task { @MainActor in self?.view?.context.endEvent() }
    }
    view = ViewContext(new)
    return new
  }

  private func mergeIntoView(_ isWanted: Bool) {
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

  /// Creates a context.
  ///
  /// A context must be used by only one thread at a time.
  public func newContext() -> sending ManagedObjectContext {
    ManagedObjectContext(group)
  }

  /// Creates a context that runs its work on a separate thread.
  public func newBackgroundContext() -> BackgroundContext { BackgroundContext(newContext()) }

  /// Runs `body` with a new context on a separate thread.
  ///
  /// Objects must not leave `body`; return IDs or values.
  ///
  /// - Parameters:
  ///   - author: The author of the changes, for the history.
  ///   - token: The generation that the context reads, or `nil` to use the newest generation at
  ///     each read.
  ///   - body: The work to perform. Changes that `body` does not save are lost.
  /// - Returns: The result of `body`.
  /// - Throws: The error that `body` throws; `generationExpired` or `foreignStore`.
  public func performBackgroundTask<R: Sendable>(
    author: String? = nil, pinnedTo token: QueryGenerationToken? = nil,
    _ body: nonisolated(nonsending) @Sendable (ManagedObjectContext) async throws -> R
  ) async throws -> R {
    try await newBackgroundContext().perform { context in
      context.transactionAuthor = author
      try context.setQueryGenerationFrom(token)
      return try await body(context)
    }
  }
}

/// The owner of the view context, which ensures that the context is deallocated on the main actor.
///
/// The observers of the context's objects run on the main actor, but the container may be
/// deallocated on any thread.
@MainActor private final class ViewContext {
  let context: ManagedObjectContext

  init(_ context: ManagedObjectContext) { self.context = context }

  isolated deinit {}
}
