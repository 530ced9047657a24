public import Foundation

/// A change of many rows at once, without objects: ``BatchInsertRequest``, ``BatchUpdateRequest``
/// or ``BatchDeleteRequest``.
///
/// It is written straight to the store, as one generation. Objects are not told: neither are they
/// validated, nor do those in memory change before they are fetched again or refreshed. It never
/// moves the pin of a context.
public protocol BatchRequest {}

/// What a batch request answers with.
public enum BatchResultType: Sendable {
  /// That it is done, and how many rows it was.
  case statusOnly
  /// The IDs of the rows, too.
  case objectIDs
  /// How many rows it was.
  case count
}

/// What a batch request has done.
public struct BatchResult: Sendable {
  /// How many rows were inserted or updated, or deleted with all that a deletion entails.
  public let count: Int
  /// Their IDs, if they were asked for.
  public let objectIDs: [ManagedObjectID]
}

/// Inserts rows, one by one as a closure makes them.
///
/// Where the model has unique attributes, a row that is there already is updated as the context's
/// merge policy says: with ``MergePolicy/mergeByPropertyObjectTrump`` what the closure has set, the
/// rest stays; with ``MergePolicy/overwrite`` all of it; with
/// ``MergePolicy/mergeByPropertyStoreTrump`` and ``MergePolicy/rollback`` nothing. With
/// ``MergePolicy/error`` executing throws.
///
/// ```swift
/// var lines = feed.makeIterator()
/// try context.execute(BatchInsertRequest<Quake> { row in
///   guard let line = lines.next() else { return true }
///   row[\.code] = line.code
///   row[\.magnitude] = line.magnitude
///   return false
/// })
/// ```
public struct BatchInsertRequest<M: ManagedObject>: BatchRequest {
  /// What to answer with.
  public var resultType = BatchResultType.statusOnly
  let handler: (inout BatchRow<M>) throws -> Bool

  /// Describes rows to insert.
  ///
  /// - Parameters:
  ///   - type: The class of the rows, where the context does not tell it.
  ///   - handler: Fills a row, which has the values of a new object; returns true, with nothing
  ///     filled, when there are no more.
  public init(
    _ type: M.Type = M.self, handler: @escaping (_ row: inout BatchRow<M>) throws -> Bool
  ) {
    self.handler = handler
  }
}

/// Changes attributes of all rows that meet a condition.
///
/// ```swift
/// try context.execute(BatchUpdateRequest<Message>(where: #Predicate { !$0.isRead }) { row in
///   row[\.isRead] = true
/// })
/// ```
public struct BatchUpdateRequest<M: ManagedObject>: BatchRequest {
  /// Which rows; all without one.
  public var predicate: QueryPredicate<M>?
  /// Whether rows of subclasses belong to them.
  public var includesSubentities = true
  /// What to answer with.
  public var resultType = BatchResultType.statusOnly
  let change: (inout BatchRow<M>) throws -> Void

  /// Describes rows and their change.
  ///
  /// - Parameters:
  ///   - type: The class of the rows, where the context does not tell it.
  ///   - predicate: Which rows; all without one.
  ///   - change: Called with each row as it is, sets what it shall be.
  public init(
    _ type: M.Type = M.self, where predicate: Foundation.Predicate<M>? = nil,
    set change: @escaping (_ row: inout BatchRow<M>) throws -> Void
  ) {
    self.predicate = predicate.map { QueryPredicate($0) }
    self.change = change
  }

  /// Describes rows and their change, by a predicate that was put together of others or read from a
  /// format.
  @_disfavoredOverload
  public init(
    _ type: M.Type = M.self, where predicate: QueryPredicate<M>?,
    set change: @escaping (_ row: inout BatchRow<M>) throws -> Void
  ) {
    self.predicate = predicate
    self.change = change
  }
}

/// Deletes all rows that meet a condition, or that IDs name.
///
/// Relationships are kept: others forget what is deleted, or are deleted too, as the delete rules
/// say. With a rule that denies it, executing throws and nothing is deleted.
public struct BatchDeleteRequest<M: ManagedObject>: BatchRequest {
  /// Which rows; all without one.
  public var predicate: QueryPredicate<M>?
  /// Whether rows of subclasses belong to them.
  public var includesSubentities = true
  /// What to answer with.
  public var resultType = BatchResultType.statusOnly
  let objectIDs: [ManagedObjectID]?

  /// Describes rows by a condition.
  public init(_ type: M.Type = M.self, where predicate: Foundation.Predicate<M>? = nil) {
    self.predicate = predicate.map { QueryPredicate($0) }
    objectIDs = nil
  }

  /// Describes rows by a predicate that was put together of others or read from a format.
  @_disfavoredOverload
  public init(_ type: M.Type = M.self, where predicate: QueryPredicate<M>?) {
    self.predicate = predicate
    objectIDs = nil
  }

  /// Describes rows by their IDs; one whose row is gone is left out.
  public init(objectIDs: [ManagedObjectID]) { self.objectIDs = objectIDs }
}

/// A row of a batch request: attributes that are read and set without an object.
public struct BatchRow<M: ManagedObject> {
  let content: BatchRowContent

  /// An attribute of the row.
  ///
  /// - Precondition: It is a stored attribute; else executing throws `unknownProperty`.
  public subscript<V: AttributeValue>(_ keyPath: KeyPath<M, V>) -> V {
    get { content.value(at: keyPath, rootedIn: M.self) }
    nonmutating set { content.set(newValue, at: keyPath) }
  }
}

/// The values of the row that a batch request is at.
///
/// Unchecked, because every attribute that is set uses all of it, on one thread.
final class BatchRowContent {
  private let entity: EntityDescription
  private let schema: Schema.Content
  @exclusivity(unchecked) private var slots: [AnyKeyPath: Int] = [:]
  /// The key paths of the row before, in the order of their use, which mostly is that of the next.
  @exclusivity(unchecked) private var usual: [(keyPath: AnyKeyPath, slot: Int)] = []
  /// How many of them this row has used.
  @exclusivity(unchecked) private var place = 0
  /// By slot.
  @exclusivity(unchecked) var values: [StoredValue] = []
  /// The slots that were set.
  @exclusivity(unchecked) private(set) var changed = SlotSet()
  @exclusivity(unchecked) private(set) var failure: (any Error)?

  init(_ entity: EntityDescription, _ schema: Schema.Content) {
    self.entity = entity
    self.schema = schema
  }

  /// Goes on to a row.
  func begin(_ values: [StoredValue]) {
    self.values = values
    changed = SlotSet()
    place = 0
  }

  private func slot(_ keyPath: AnyKeyPath) throws -> Int {
    defer { place += 1 }
    if place < usual.count, usual[place].keyPath === keyPath { return usual[place].slot }
    let slot = try foundSlot(keyPath)
    usual.removeLast(max(0, usual.count - place))
    if place == usual.count { usual.append((keyPath, slot)) }
    return slot
  }

  private func foundSlot(_ keyPath: AnyKeyPath) throws -> Int {
    if let known = slots[keyPath] { return known }
    let property = try schema.property(keyPath, of: entity)
    guard property.isAttribute else {
      throw ObjectGraphError(
        .unknownProperty, "\(entity.name).\(property.name) is no attribute that is stored.")
    }
    slots[keyPath] = property.slot
    return property.slot
  }

  func value<M: ManagedObject, V: AttributeValue>(
    at keyPath: KeyPath<M, V>, rootedIn root: M.Type
  ) -> V {
    do {
      return try M.value(values[try slot(keyPath)], at: keyPath)
    } catch {
      failure = failure ?? error
      // The request is given up when the closure returns; until then, as in a new object.
      return root.init()[keyPath: keyPath]
    }
  }

  func set<V: AttributeValue>(_ value: V, at keyPath: AnyKeyPath) {
    do {
      let slot = try slot(keyPath)
      changed.insert(slot)
      do {
        values[slot] = try value.storedValue
      } catch {
        throw ObjectGraphError(
          .validation, "\(entity.name).\(entity.properties[slot].name) cannot be stored: \(error)")
      }
    } catch {
      failure = failure ?? error
    }
  }

  /// Throws what went wrong in the closure of the request.
  func requireSuccess() throws {
    if let failure { throw failure }
  }
}
