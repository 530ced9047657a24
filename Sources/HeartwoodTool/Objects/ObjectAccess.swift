import Heartwood
import HeartwoodEngine

/// Functions that give the commands access to the objects in a store.
enum ObjectAccess {
  /// Opens a store for reading, and calls `body` with the objects of the generation selected on the
  /// command line.
  static func withObjects<R>(
    _ invocation: Invocation, _ body: (StoredObjects, Store) throws -> R
  ) throws -> R {
    try StoreAccess.withStore(invocation.path, for: .reading) { store in
      let snapshot = try StoreAccess.snapshot(of: store, invocation)
      return try body(try StoredObjects(store, at: snapshot), store)
    }
  }

  /// Opens a store for writing, and calls `body` with the objects of its newest generation.
  static func withWritableObjects<R>(
    _ invocation: Invocation, _ body: (StoredObjects) throws -> R
  ) throws -> R {
    try StoreAccess.withStore(invocation.path, for: .writing) { store in
      try body(try StoredObjects(store, at: store.snapshot()))
    }
  }

  /// The author recorded for transactions, unless the command line specifies another author.
  static let author = "heartwoodctl"

  /// Returns the entity with the given name, or throws an error if there is none.
  static func entity(
    _ name: String, of objects: StoredObjects, _ invocation: Invocation
  ) throws -> EntityFacts {
    if let entity = objects.entity(named: name) { return entity }
    let names = objects.entities.map(\.name)
    throw ToolFailure.refused(
      "There is no entity named "
        + "\(QuotedText.quoted(name)).\(NearestName.question(name, in: names)) Run 'heartwoodctl "
        + "entities \(invocation.path)' to list the entities.")
  }

  /// Returns the ID of the object named by an operand, or throws an error if there is no such
  /// object.
  static func id(_ text: String, of objects: StoredObjects) throws -> ManagedObjectID {
    if let id = objects.id(text) { return id }
    throw ToolFailure.refused(
      "\(QuotedText.quoted(text)) is not the ID of an object in this store. Use an entity and a "
        + "number, such as \(objects.entities.first?.name ?? "Order")/1, or a URI.")
  }
}
