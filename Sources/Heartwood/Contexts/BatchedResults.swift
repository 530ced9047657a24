/// What a fetch has found, as a collection that loads objects when they are looked at.
///
/// It reads all of them from the generation of the fetch, wherever its context goes on to, and
/// holds the objects of one batch at a time: going through a million takes the memory of their
/// numbers, eight bytes each. Used by the thread of its context.
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

  /// Zero.
  public var startIndex: Int { 0 }
  /// How many objects there are.
  public var endIndex: Int { batches.numbers.count }

  /// An object, which is loaded with its batch if need be.
  ///
  /// One that cannot be read is a fault, and the context has a ``ManagedObjectContext/faultError``.
  ///
  /// - Complexity: One row read for each object of a batch, if another was looked at before.
  public subscript(position: Int) -> M {
    guard let object = batches.object(at: position) as? M else {
      preconditionFailure("a fetch of \(M.self) that has found something else")
    }
    return object
  }

  /// The IDs of the objects; none is loaded.
  public var objectIDs: [ManagedObjectID] {
    batches.currentNumbers.map { ManagedObjectID($0, batches.context.model.space) }
  }
}

/// The objects of some rows, one batch of them at a time.
final class ObjectBatches {
  /// The size of a batch if none was asked for.
  private static let defaultSize = 100

  /// The part of the context that the objects are in.
  let context: ManagedObjectContext
  /// The context, without which its part is nothing.
  private let whole: ManagedObjectContext
  let numbers: [ObjectNumber]
  /// The generation of the fetch; `nil` below another context, which is read instead.
  private let view: StoreView?
  private let size: Int
  /// Objects that have no row yet, and whose numbers a save will change.
  private let unsaved: [ObjectNumber: ManagedObject]
  private var batch: [ManagedObject] = []
  private var start = 0

  init(
    _ context: ManagedObjectContext, _ view: StoreView?, _ numbers: [ObjectNumber], size: Int
  ) {
    self.context = context
    whole = context.whole
    self.view = view
    self.numbers = numbers
    self.size = size > 0 ? size : Self.defaultSize
    let temporary = numbers.filter(\.isTemporary)
    unsaved = Dictionary(
      temporary.compactMap { number in context.object(number).map { (number, $0) } },
      uniquingKeysWith: { $1 })
  }

  func object(at position: Int) -> ManagedObject {
    if position < start || position >= start + batch.count {
      start = position / size * size
      batch = numbers[start..<min(start + size, numbers.count)].map(loaded)
    }
    return batch[position - start]
  }

  /// The numbers as they are now.
  var currentNumbers: [ObjectNumber] { numbers.map { unsaved[$0]?.number ?? $0 } }

  private func loaded(_ number: ObjectNumber) -> ManagedObject {
    guard let object = unsaved[number] ?? context.object(number) else {
      preconditionFailure("a row of an entity that is no part of the model")
    }
    guard object.isFault else { return object }
    if let view { context.fire(object, in: view) } else { context.fire(object) }
    return object
  }
}
