public import Foundation

/// A request that inserts, updates or deletes many rows without creating objects for them.
///
/// There are three kinds: ``BatchInsertRequest``, ``BatchUpdateRequest`` and
/// ``BatchDeleteRequest``. Executing a request writes directly to the store and creates one
/// generation, without validating objects or calling callbacks. Objects in memory keep their
/// values until they are fetched again or refreshed, and a pinned context stays pinned to the same
/// generation.
public protocol BatchRequest {}

/// The kind of information contained in a batch result.
public enum BatchResultType: Sendable {
  /// Only the number of rows.
  case statusOnly
  /// The number of rows and their IDs.
  case objectIDs
  /// The number of rows; equivalent to ``statusOnly``.
  case count
}

/// The result of a batch request.
public struct BatchResult: Sendable {
  /// The number of rows that were inserted, updated or deleted, including rows deleted by cascades.
  public let count: Int
  /// The IDs of the rows that ``count`` includes.
  ///
  /// The array is empty unless the result type is ``BatchResultType/objectIDs``.
  public let objectIDs: [ManagedObjectID]
}

/// A request that inserts rows.
///
/// A closure sets the values of one row at a time.
///
/// If a row with the same unique values already exists, the merge policy of the context decides
/// what happens. ``MergePolicy/mergeByPropertyObjectTrump`` updates the attributes set by the
/// closure, and ``MergePolicy/overwrite`` updates all attributes.
/// ``MergePolicy/mergeByPropertyStoreTrump`` and ``MergePolicy/rollback`` leave the existing row
/// unchanged. With ``MergePolicy/error``, executing the request throws.
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
  /// The kind of information to return in the ``BatchResult``.
  public var resultType = BatchResultType.statusOnly
  let handler: (inout BatchRow<M>) throws -> Bool

  /// Creates a request that inserts rows.
  ///
  /// - Parameters:
  ///   - type: The class of the rows, if it cannot be inferred.
  ///   - handler: A closure that is called once for each new row. The row initially has the same
  ///     values as a new object. The closure sets other values and returns `false` to insert the
  ///     row, or returns `true` when there are no more rows to insert.
  public init(
    _ type: M.Type = M.self, handler: @escaping (_ row: inout BatchRow<M>) throws -> Bool
  ) {
    self.handler = handler
  }
}

/// A request that updates the attributes of all rows that match a condition.
///
/// ```swift
/// try context.execute(BatchUpdateRequest<Message>(where: #Predicate { !$0.isRead }) { row in
///   row[\.isRead] = true
/// })
/// ```
public struct BatchUpdateRequest<M: ManagedObject>: BatchRequest {
  /// The condition that rows must meet, or `nil` to update all rows.
  public var predicate: QueryPredicate<M>?
  /// A Boolean value that indicates whether rows of subclasses are included.
  public var includesSubentities = true
  /// The kind of information to return in the ``BatchResult``.
  public var resultType = BatchResultType.statusOnly
  let change: (inout BatchRow<M>) throws -> Void

  /// Creates a request that updates the rows that match a predicate.
  ///
  /// - Parameters:
  ///   - type: The class of the rows, if it cannot be inferred.
  ///   - predicate: The condition that rows must meet, or `nil` to update all rows.
  ///   - change: A closure that is called once for each matching row. The closure can read the
  ///     row's current values and set new values.
  public init(
    _ type: M.Type = M.self, where predicate: Foundation.Predicate<M>? = nil,
    set change: @escaping (_ row: inout BatchRow<M>) throws -> Void
  ) {
    self.predicate = predicate.map { QueryPredicate($0) }
    self.change = change
  }

  /// Creates a request with a compound predicate or with a predicate parsed from a format string.
  @_disfavoredOverload
  public init(
    _ type: M.Type = M.self, where predicate: QueryPredicate<M>?,
    set change: @escaping (_ row: inout BatchRow<M>) throws -> Void
  ) {
    self.predicate = predicate
    self.change = change
  }
}

/// A request that deletes all rows that match a condition, or the rows with the given IDs.
///
/// Relationships stay consistent: the delete rules decide whether related rows lose their
/// references or are deleted as well. If a rule denies a deletion, executing the request throws and
/// nothing is deleted.
public struct BatchDeleteRequest<M: ManagedObject>: BatchRequest {
  /// The condition that rows must meet, or `nil` to delete all rows.
  public var predicate: QueryPredicate<M>?
  /// A Boolean value that indicates whether rows of subclasses are included.
  public var includesSubentities = true
  /// The kind of information to return in the ``BatchResult``.
  public var resultType = BatchResultType.statusOnly
  let objectIDs: [ManagedObjectID]?

  /// Creates a request that deletes all rows that match a condition.
  public init(_ type: M.Type = M.self, where predicate: Foundation.Predicate<M>? = nil) {
    self.predicate = predicate.map { QueryPredicate($0) }
    objectIDs = nil
  }

  /// Creates a request with a compound predicate or with a predicate parsed from a format string.
  @_disfavoredOverload
  public init(_ type: M.Type = M.self, where predicate: QueryPredicate<M>?) {
    self.predicate = predicate
    objectIDs = nil
  }

  /// Creates a request that deletes the rows with the given IDs.
  ///
  /// The IDs must all belong to the same entity, either the entity of `M` or one of its
  /// subentities. IDs whose rows no longer exist are ignored.
  public init(objectIDs: [ManagedObjectID]) { self.objectIDs = objectIDs }
}

/// A row that a batch request is inserting or updating.
///
/// The request's closure can read and set the row's attributes without creating an object.
public struct BatchRow<M: ManagedObject> {
  let content: BatchRowContent

  /// Accesses an attribute of the row.
  ///
  /// - Precondition: The key path refers to a stored attribute. Otherwise, executing the request
  ///   throws `unknownProperty`.
  public subscript<V: AttributeValue>(_ keyPath: KeyPath<M, V>) -> V {
    get { content.value(at: keyPath, rootedIn: M.self) }
    nonmutating set { content.set(newValue, at: keyPath) }
  }
}

/// The values of a batch request's current row.
///
/// Each access to an attribute uses several properties of this class, so exclusivity checks are
/// turned off for these properties to save time. This is safe, because only one thread uses an
/// instance.
final class BatchRowContent {
  private let entity: EntityDescription
  private let schema: Schema.Content
  @exclusivity(unchecked) private var slots: [AnyKeyPath: Int] = [:]
  /// The key paths that the closure used for the previous row, with their slots, in order of use.
  ///
  /// The request's closure usually uses the same key paths in the same order for every row.
  /// Remembering their slots therefore avoids most lookups.
  @exclusivity(unchecked) private var previousSlots: [(keyPath: AnyKeyPath, slot: Int)] = []
  /// The number of key paths used so far for the current row.
  @exclusivity(unchecked) private var usedCount = 0
  /// The values of the row, indexed by slot.
  @exclusivity(unchecked) var values: [StoredValue] = []
  /// The slots of the attributes that have been set by the request's closure.
  @exclusivity(unchecked) private(set) var changed = SlotSet()
  @exclusivity(unchecked) private(set) var failure: (any Error)?

  init(_ entity: EntityDescription, _ schema: Schema.Content) {
    self.entity = entity
    self.schema = schema
  }

  /// Starts a new row with the given values.
  func begin(_ values: [StoredValue]) {
    self.values = values
    changed = SlotSet()
    usedCount = 0
  }

  private func slot(_ keyPath: AnyKeyPath) throws -> Int {
    defer { usedCount += 1 }
    if usedCount < previousSlots.count, previousSlots[usedCount].keyPath === keyPath {
      return previousSlots[usedCount].slot
    }
    let slot = try foundSlot(keyPath)
    previousSlots.removeLast(max(0, previousSlots.count - usedCount))
    if usedCount == previousSlots.count { previousSlots.append((keyPath, slot)) }
    return slot
  }

  private func foundSlot(_ keyPath: AnyKeyPath) throws -> Int {
    if let known = slots[keyPath] { return known }
    let property = try schema.property(keyPath, of: entity)
    guard property.isAttribute else {
      throw ObjectGraphError(
        .unknownProperty,
        "\(entity.name).\(property.name) is not a stored attribute. A batch request can read and "
          + "set only stored attributes. For other properties, fetch the objects instead.")
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
      // Return the value of a new object as a placeholder, because the row's subscript cannot
      // throw. The batch request throws `failure` after the closure returns.
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
          .validation,
          "The value of \(entity.name).\(entity.properties[slot].name) could not be encoded. Set a "
            + "different value. Underlying error: \(error)")
      }
    } catch {
      failure = failure ?? error
    }
  }

  /// Throws the first error that was recorded while the closure accessed attributes, if any.
  ///
  /// The subscript of ``BatchRow`` cannot throw, so its errors are recorded instead.
  func requireSuccess() throws {
    if let failure { throw failure }
  }
}
