import Heartwood

/// A context of a random run, and its model in the reference.
final class CrewWorkspace {
  let number: Int
  var context: ManagedObjectContext
  let policy: MergePolicy.Each
  let container: Int
  var view = CrewView()
  /// The generation to which the context is pinned, or `nil` if it is not pinned.
  var pinned: CrewStore?
  /// The IDs that new objects had before they were saved.
  var temporaryIDs: [Int: ManagedObjectID] = [:]
  var isMerging: Bool { context.automaticallyMergesChangesFromParent }
  /// The objects of the context, by their number in the reference.
  private(set) var handles: [Int: ManagedObject] = [:]
  private var numbers: [ObjectIdentifier: Int] = [:]

  init(_ number: Int, _ context: ManagedObjectContext, _ policy: MergePolicy.Each, container: Int) {
    self.number = number
    self.context = context
    self.policy = policy
    self.container = container
    context.mergePolicy = policy == .custom ? CrewPolicy.policy : policy.policy
    context.name = "workspace \(number)"
  }

  func keep(_ object: ManagedObject, as tag: Int) {
    if let old = handles[tag] { numbers[ObjectIdentifier(old)] = nil }
    handles[tag] = object
    numbers[ObjectIdentifier(object)] = tag
  }

  func drop(_ tag: Int) {
    if let old = handles.removeValue(forKey: tag) { numbers[ObjectIdentifier(old)] = nil }
  }

  func dropAll() {
    handles = [:]
    numbers = [:]
  }

  /// Returns the number of an object, or -1 if the context must not have the object.
  func tag(_ object: ManagedObject) -> Int { numbers[ObjectIdentifier(object)] ?? -1 }

  func object(_ tag: Int) throws -> ManagedObject {
    guard let object = handles[tag] else { throw CrewMismatch("there is no object \(tag) here") }
    return object
  }

  func handlesObject(_ tag: Int) -> Bool { handles[tag] != nil }

  func tags(_ objects: Set<ManagedObject>) -> Set<Int> { Set(objects.map { tag($0) }) }

  /// Releases objects that the reference no longer has, unless undo or redo can restore them.
  ///
  /// - Returns: The released objects.
  func prune() -> [(tag: Int, object: WeakObject)] {
    guard !view.canUndo, view.future.isEmpty else { return [] }
    let left = handles.keys.filter { view.now[$0] == nil }
    let objects = left.compactMap { tag in handles[tag].map { (tag, WeakObject($0)) } }
    for tag in left { drop(tag) }
    return objects
  }
}

/// A weak reference to an object, which shows whether the object was deallocated.
struct WeakObject {
  private(set) weak var object: ManagedObject?
  init(_ object: ManagedObject) { self.object = object }
}
