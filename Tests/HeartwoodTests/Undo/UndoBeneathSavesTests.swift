import Heartwood
import HeartwoodTestSupport
import Testing

@Suite("Undo beneath saves of other contexts")
struct UndoBeneathSavesTests {
  private let fixture: GraphFixture
  private let context: ManagedObjectContext
  private let others: ManagedObjectContext

  init() throws {
    fixture = try GraphFixture(crates)
    (context, others) = (fixture.context(), fixture.context())
    context.tracksUndo = true
    context.discardsUndoOnSave = true
  }

  private func own<Object: ManagedObject>(_ object: Object) throws -> Object {
    try #require(try context.existingObject(Object.self, with: object.objectID))
  }

  /// Saves a crate with an item in the other context, and returns both in this context or a child.
  private func crate(
    containing item: CrateItem, isChild: Bool
  ) throws -> (own: ManagedObjectContext, crate: Crate, item: CrateItem) {
    let crate = Crate(context: others)
    crate.items = [item]
    try others.save()
    let own = isChild ? fixture.child(of: context) : context
    own.tracksUndo = true
    return (own, own.object(with: crate.objectID), own.object(with: item.objectID))
  }

  private func undoAll(_ context: ManagedObjectContext) {
    while context.canUndo { context.undo() }
    #expect(!context.hasChanges)
  }

  @Test(.evidence("G-02"))
  func `undoing a deletion and a move beneath others' additions leaves nothing to save`() throws {
    let (source, target) = (Crate(context: others), Crate(context: others))
    let item = CrateItem(context: others)
    try others.save()
    context.delete(try own(source))
    source.items = [item]
    try others.save()
    let ownItem = try #require(try context.fetch(FetchRequest<CrateItem>()).first)
    let (ownSource, ownTarget) = (try own(source), try own(target))
    ownTarget.items = [ownItem]
    undoAll(context)
    try context.save()
    #expect(ownSource.items == [ownItem] && ownItem.crate === ownSource && ownTarget.items == [])
  }

  @Test(.evidence("G-02"))
  func `undoing everything shows members that others have removed on neither side`() throws {
    let tag = CrateTag(context: others)
    let crates = (0..<3).map { _ in Crate(context: others) }
    tag.crates = Set(crates)
    try others.save()
    let (ownTag, ownCrates) = (try own(tag), try crates.map { try own($0) })
    #expect(ownCrates.allSatisfy { $0.tags == [ownTag] })
    context.delete(ownCrates[2])
    #expect(ownTag.crates.count == 2)
    tag.crates = []
    try others.save()
    _ = try context.fetch(FetchRequest<Crate>())
    _ = try context.fetch(FetchRequest<CrateTag>())
    ownTag.crates = [ownCrates[0]]
    undoAll(context)
    _ = try context.fetch(FetchRequest<Crate>())
    _ = try context.fetch(FetchRequest<CrateTag>())
    #expect(ownTag.crates == [] && ownCrates.allSatisfy { $0.tags == [] })
    try context.save()
    #expect(ownTag.crates == [] && ownCrates.allSatisfy { $0.tags == [] })
  }

  @Test(.evidence("G-01"), .evidence("C-06"))
  func `redo omits members that the pinned generation lacks on both sides`() throws {
    try fixture.container.keepGeneration(.current, as: "old")
    let item = CrateItem(context: context)
    try context.save()
    try context.setQueryGenerationFrom(try fixture.container.keptGeneration("old"))
    let crate = Crate(context: context)
    crate.items = [item]
    context.undo()
    context.refreshAllObjects()
    context.redo()
    #expect(crate.isInserted)
    try context.save()
    _ = try context.fetch(FetchRequest<CrateItem>())
    #expect((crate.items == [item]) == (item.crate === crate))
    try fixture.stored { fresh in
      let stored = try #require(try fresh.fetch(FetchRequest<Crate>()).first)
      #expect(stored.items.map(\.objectID) == crate.items.map(\.objectID))
    }
  }

  @Test(.evidence("G-02"), .evidence("N-01"))
  func `undoing everything in a child after its parent has saved leaves no changes`() throws {
    let child = fixture.child(of: context)
    child.tracksUndo = true
    let (one, other) = (CrateTag(context: context), CrateTag(context: context))
    other.mate = other
    let childOne = try #require(try child.existingObject(CrateTag.self, with: one.objectID))
    let childOther = try #require(try child.existingObject(CrateTag.self, with: other.objectID))
    childOther.mate = childOne
    try context.save()
    undoAll(child)
    #expect(child.updatedObjects == [] && childOther.mate === childOther && childOne.mate == nil)
  }

  @Test(.evidence("G-02"))
  func `undoing deletions and an insertion keeps an object that others have added`() throws {
    let (crate, item) = (Crate(context: others), CrateItem(context: others))
    try others.save()
    let ownCrate = try own(crate)
    context.delete(ownCrate)
    context.insert(ownCrate)
    context.delete(ownCrate)
    crate.items = [item]
    try others.save()
    for transaction in try fixture.container.fetchHistory(after: nil) {
      try context.mergeChanges(from: transaction)
    }
    undoAll(context)
    try context.save()
    #expect(try fixture.context().count(for: FetchRequest<CrateItem>()) == 1)
    #expect(ownCrate.items.count == 1)
  }

  @Test(.evidence("G-02"))
  func `undoing the removal of a member that others had moved leaves no changes`() throws {
    let fixture = try GraphFixture()
    let ids = [try fixture.person("Ada", cars: 1), try fixture.person("Bob")]
    let context = fixture.context()
    context.tracksUndo = true
    let people: [Person] = ids.map { context.object(with: $0) }
    let car = try #require(people[0].cars.first)
    try fixture.saved { other in
      let bob: Person = other.object(with: ids[1])
      for car in try other.fetch(FetchRequest<Car>()) { car.owner = bob }
    }
    // The fetch rereads the car, but not its former owner.
    #expect(try context.fetch(FetchRequest<Car>()) == [car])
    #expect(car.owner === people[1] && people[0].cars == [car])
    people[0].cars = []
    undoAll(context)
    #expect(!people[0].isUpdated)
  }

  @Test(.evidence("G-02"), .evidence("I-01"))
  func `undoing a redone deletion of an object that others have deleted leaves nothing`() throws {
    let item = CrateItem(context: others)
    try others.save()
    let ownItem = try own(item)
    context.delete(ownItem)
    context.insert(ownItem)
    others.delete(item)
    try others.save()
    undoAll(context)
    context.refreshAllObjects()
    while context.canRedo { context.redo() }
    undoAll(context)
    withExtendedLifetime(ownItem) {}
  }

  @Test(.evidence("G-02"), .evidence("C-06"), arguments: [false, true])
  func `undoing the removal of a member that others have deleted does not add it`(
    isChild: Bool
  ) throws {
    context.mergePolicy = .mergeByPropertyObjectTrump
    let item = CrateItem(context: others)
    let (own, ownCrate, ownItem) = try crate(containing: item, isChild: isChild)
    ownCrate.items.removeAll { $0 === ownItem }
    ownCrate.items.insert(ownItem, at: 0)
    others.delete(item)
    try others.save()
    if isChild { context.refreshAllObjects() }
    _ = try own.fetch(FetchRequest<Crate>())
    _ = try own.fetch(FetchRequest<CrateItem>())
    undoAll(own)
    try own.save()
    #expect(ownCrate.items == [])
  }

  @Test(.evidence("G-02"), .evidence("C-06"), arguments: [false, true])
  func `undoing the move of a member that others have removed leaves nothing`(
    isChild: Bool
  ) throws {
    let item = CrateItem(context: others)
    let (own, ownCrate, ownItem) = try crate(containing: item, isChild: isChild)
    ownCrate.items.removeAll()
    ownCrate.items.append(ownItem)
    item.crate = nil
    try others.save()
    context.refreshAllObjects()
    // Read only the item again.
    _ = try own.fetch(FetchRequest<CrateItem>())
    undoAll(own)
    try own.save()
    own.refreshAllObjects()
    #expect(ownCrate.items.isEmpty && ownItem.crate == nil)
  }
}
