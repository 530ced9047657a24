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

  /// The options most programs want.
  public init() {}
}

/// A model and a store: where contexts come from.
///
/// ```swift
/// let container = try PersistentContainer(url: url, schema: Schema(Note.self))
/// let context = container.newContext()
/// ```
public final class PersistentContainer: Sendable {
  /// The store.
  public let store: Store
  let model: StoreModel
  @MainActor private var view: ManagedObjectContext?

  /// Opens a store, or makes one, and brings it up to the model.
  ///
  /// - Parameters:
  ///   - url: The folder of the store.
  ///   - schema: The model.
  ///   - options: How to open it.
  /// - Throws: `invalidModel` with everything that is wrong with the classes; `incompatibleSchema`,
  ///   naming what the store has otherwise; a `StorageError` if the store cannot be opened.
  public convenience init(
    url: URL, schema: Schema, options: ContainerOptions = ContainerOptions()
  ) throws {
    try Self.check(schema)
    let store =
      options.inMemory
      ? try Store.inMemory(options: options.store)
      : try Store(at: url.path(percentEncoded: false), options: options.store)
    try self.init(store, schema, tracksHistory: options.tracksHistory)
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
    try check(schema)
    let store = try name.map { try NamedStores.store($0) } ?? Store.inMemory()
    return try PersistentContainer(store, schema)
  }

  private init(_ store: Store, _ schema: Schema, tracksHistory: Bool = true) throws {
    self.store = store
    let (stored, identity) = try StoredModel.bringUp(store, to: schema)
    model = try StoreModel(
      schema.content, stored, store: identity, tracksHistory: tracksHistory)
  }

  private static func check(_ schema: Schema) throws {
    let failures = schema.content.failures
    guard let first = failures.first else { return }
    guard failures.count > 1 else { throw first }
    var all = ObjectGraphError(.invalidModel, "The model has \(failures.count) errors.")
    all.failures = failures
    throw all
  }

  /// The context of the main actor: what a user interface shows.
  @MainActor public var viewContext: ManagedObjectContext {
    if let view { return view }
    let new = newContext()
    view = new
    return new
  }

  /// A context of its own, for the caller to use by one thread at a time.
  public func newContext() -> sending ManagedObjectContext {
    ManagedObjectContext(store: store, model: model)
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

/// The stores in memory that have a name.
private enum NamedStores {
  private struct Entry: Sendable {
    weak var store: Store?
  }

  private static let entries = Mutex<[String: Entry]>([:])

  /// The store of a name, made if nobody has it open.
  static func store(_ name: String) throws -> Store {
    try entries.withLock { entries in
      entries = entries.filter { $0.value.store != nil }
      if let store = entries[name]?.store { return store }
      let store = try Store.inMemory()
      entries[name] = Entry(store: store)
      return store
    }
  }
}
