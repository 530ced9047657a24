/// A collection of fetched objects that loads the objects in batches when they are accessed.
///
/// When a batch is loaded, its objects are read from the generation of the fetch, even if the
/// context has advanced since then. Objects that the context has already loaded from a newer
/// generation keep their values. The collection holds the objects of only one batch at a time, plus
/// eight bytes for each object in the result. Use the collection on the thread of its context.
///
/// ```swift
/// for note in try context.fetchBatched(FetchRequest<Note>(batchSize: 500)) { … }
/// ```
public struct BatchedResults<M: ManagedObject>: RandomAccessCollection {
  private let batches: ObjectBatches

  init(
    _ context: ManagedObjectContext, _ view: StoreView?, _ numbers: [ObjectNumber], size: Int
  ) {
    batches = ObjectBatches(context, view, numbers, size: size)
  }

  /// The first position, which is always zero.
  public var startIndex: Int { 0 }
  /// The end position, which equals the number of objects.
  public var endIndex: Int { batches.numbers.count }

  /// Accesses the object at a position, loading the object's batch if necessary.
  ///
  /// If an object cannot be read, the result is a fault, and the context's
  /// ``ManagedObjectContext/faultError`` is set.
  ///
  /// - Complexity: If the object's batch is not the one that was loaded last, reads one row for
  ///   each object in the batch.
  public subscript(position: Int) -> M {
    guard let object = batches.object(at: position) as? M else {
      preconditionFailure("A fetch of \(M.self) returned an object of another class.")
    }
    return object
  }

  /// The IDs of the objects, obtained without loading them.
  public var objectIDs: [ManagedObjectID] {
    batches.currentNumbers.map { ManagedObjectID($0, batches.context.model.space) }
  }
}

/// The objects for a list of rows, loaded one batch at a time.
final class ObjectBatches {
  /// The default size of a batch.
  private static let defaultSize = 100

  /// The store context of the objects.
  let context: ManagedObjectContext
  /// The root context, which is retained because it owns the store context.
  private let rootContext: ManagedObjectContext
  let numbers: [ObjectNumber]
  /// The generation from which the fetch read, or `nil` in a child context, which reads from its
  /// parent.
  private let view: StoreView?
  private let size: Int
  /// The objects that had no rows at the time of the fetch, keyed by the temporary numbers that
  /// they had at that time.
  private let unsaved: [ObjectNumber: ManagedObject]
  private var batch: [ManagedObject] = []
  private var start = 0

  init(
    _ context: ManagedObjectContext, _ view: StoreView?, _ numbers: [ObjectNumber], size: Int
  ) {
    self.context = context
    rootContext = context.rootContext
    self.view = view
    self.numbers = numbers
    self.size = size > 0 ? size : Self.defaultSize
    var unsaved: [ObjectNumber: ManagedObject] = [:]
    for number in numbers where number.isTemporary { unsaved[number] = context.object(number) }
    self.unsaved = unsaved
  }

  func object(at position: Int) -> ManagedObject {
    if position < start || position >= start + batch.count {
      let first = position / size * size
      let numbers = numbers[first..<min(first + size, numbers.count)]
      rereadLoadedObjects(numbers)
      // Replace the batch only after all objects are loaded, because loading objects may call code
      // that uses this collection.
      let objects = numbers.map(loaded)
      (start, batch) = (first, objects)
      return objects[position - first]
    }
    return batch[position - start]
  }

  /// Rereads the rows of the objects that are already loaded, as a fetch would.
  private func rereadLoadedObjects(_ numbers: ArraySlice<ObjectNumber>) {
    // If the generation can no longer be read, the objects keep their values.
    guard let view, view.isCurrent, !context.model.isRemoved else { return }
    let loaded = numbers.filter { number in
      context.registeredObject(number).map { !$0.isFault || $0.isInaccessible } ?? false
    }
    // If the context has moved to another generation since the fetch, some of the objects may be
    // newer than the fetch. Newer objects keep their values, because saving changes that are based
    // on older values would cause conflicts.
    do {
      try context.reread(loaded, in: view, onlyOlder: !context.reads(view))
    } catch {
      context.recordFaultError(error)
    }
  }

  /// The objects' current numbers, which a save may have changed since the fetch.
  var currentNumbers: [ObjectNumber] { numbers.map { unsaved[$0]?.number ?? $0 } }

  private func loaded(_ number: ObjectNumber) -> ManagedObject {
    guard let object = unsaved[number] ?? context.object(number) else {
      preconditionFailure(
        "A fetched object belongs to a class that is missing from the schema. Add the class to the "
          + "schema.")
    }
    guard object.isFault else { return object }
    if let view { context.fire(object, in: view) } else { context.fire(object) }
    return object
  }
}
