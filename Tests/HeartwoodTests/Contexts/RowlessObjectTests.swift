import Heartwood
import HeartwoodTestSupport
import Testing

/// Tests objects that count as deleted because they have no row.
@Suite("Objects whose rows are missing")
struct RowlessObjectTests {
  enum Use: CaseIterable { case save, fetch, lookup, refresh, refreshAll, merge }

  /// A context that reads Ada, whose row another context has deleted and can store again.
  private struct Scene {
    let fixture: GraphFixture
    let root: ManagedObjectContext
    let context: ManagedObjectContext
    let ada: Person
    let id: ManagedObjectID
    private let other: ManagedObjectContext

    /// - Parameter isCalled: Whether the context deletes Ada instead of reading a property.
    init(isInChild: Bool, isCalled: Bool) throws {
      fixture = try GraphFixture()
      id = try fixture.person("Ada", age: 7)
      other = fixture.context()
      try #require(try other.existingObject(Person.self, with: id)).age = 8
      other.mergePolicy = .overwrite
      try fixture.change(id) { $0.managedObjectContext?.delete($0) }
      root = fixture.context()
      context = isInChild ? fixture.child(of: root) : root
      ada = context.object(with: id)
      if isCalled { context.delete(ada) } else { #expect(ada.name == "") }
      #expect(ada.isDeleted && context.deletedObjects == [ada])
    }

    func restoreRow() throws { try other.save() }

    func save() throws {
      try context.save()
      if context !== root { try root.save() }
    }
  }

  @Test(.evidence("I-01"), .evidence("S-07"), arguments: [false, true], [false, true])
  func `a rollback restores the fault`(isInChild: Bool, isCalled: Bool) throws {
    for isRestored in [false, true] {
      let scene = try Scene(isInChild: isInChild, isCalled: isCalled)
      let (context, ada) = (scene.context, scene.ada)
      ada.age = 5
      context.rollback()
      scene.root.rollback()
      #expect(ada.isFault && !ada.isDeleted && !context.hasChanges)
      if isRestored { try scene.restoreRow() }
      #expect(ada.name == (isRestored ? "Ada" : "") && ada.age == (isRestored ? 8 : 0))
      #expect(ada.isDeleted == !isRestored)
      scene.root.mergePolicy = .overwrite
      ada.age = 9
      try scene.save()
      #expect(try scene.fixture.stored(scene.id)?.age == (isRestored ? 9 : nil))
      let count = try scene.fixture.context().count(for: FetchRequest<Person>())
      #expect(count == (isRestored ? 1 : 0))
    }
  }

  @Test(.evidence("G-01"), .evidence("G-02"), arguments: [false, true])
  func `a deletion can be undone and redone`(isInChild: Bool) throws {
    let fixture = try GraphFixture()
    let id = try fixture.person("Ada")
    try fixture.change(id) { $0.managedObjectContext?.delete($0) }
    let root = fixture.context()
    let context = isInChild ? fixture.child(of: root) : root
    context.tracksUndo = true
    let ada: Person = context.object(with: id)
    context.delete(ada)
    #expect(ada.isDeleted && context.hasChanges && context.canUndo)
    context.undo()
    #expect(ada.isFault && !ada.isDeleted && !context.hasChanges && context.canRedo)
    context.redo()
    #expect(ada.isDeleted && context.deletedObjects == [ada] && context.canUndo)
    try context.save()
    #expect(!context.hasChanges)
  }

  @Test(.evidence("C-06"), arguments: [false, true])
  func `an edited list keeps only the members that were added to it`(isLoaded: Bool) throws {
    let fixture = try GraphFixture()
    let saved = try fixture.saved { context in
      let club = Club(context: context)
      club.halls = (0..<3).map { _ in Hall(context: context) }
      return (club: club, halls: club.halls)
    }
    let context = fixture.context()
    let club: Club = context.object(with: saved.club.objectID)
    if isLoaded { #expect(club.halls.count == 3) }
    let new = Hall(context: context)
    club.$halls.append(new)
    club.$halls.remove(context.object(with: saved.halls[0].objectID))
    try fixture.saved { other in
      let club: Club = other.object(with: saved.club.objectID)
      club.halls = []
      other.delete(club)
    }
    context.refreshAllObjects()
    #expect(club.halls == [new] && new.club === club)
    context.rollback()
  }

  @Test(.evidence("S-07"), .evidence("QG-22"), arguments: [false, true], [false, true])
  func `reverting a deletion in an earlier generation restores the fault`(
    isInChild: Bool, isRolledBack: Bool
  ) throws {
    let fixture = try GraphFixture()
    try fixture.person("Bob")
    let root = fixture.context()
    try root.setQueryGenerationFrom(.current)
    #expect(try root.count(for: FetchRequest<Person>()) == 1)
    let id = try fixture.person("Ada", age: 7)
    let context = isInChild ? fixture.child(of: root) : root
    let ada: Person = context.object(with: id)
    context.delete(ada)
    #expect(ada.isDeleted)
    if isRolledBack { context.rollback() } else { context.insert(ada) }
    #expect(!ada.isDeleted && !context.hasChanges)
    try root.setQueryGenerationFrom(nil)
    root.mergePolicy = .overwrite
    ada.age = 9
    try context.save()
    if isInChild { try root.save() }
    #expect(try fixture.stored(id) ?? ("", 0, 0) == ("Ada", 9, 0))
  }

  @Test(
    .evidence("I-01"), .evidence("S-03"), .evidence("N-04"), arguments: [false, true], Use.allCases)
  func `edits are stored if the row exists again`(isInChild: Bool, use: Use) throws {
    let scene = try Scene(isInChild: isInChild, isCalled: false)
    let (context, ada) = (scene.context, scene.ada)
    ada.age = 5
    let car = Car(context: context)
    car.owner = ada
    try scene.restoreRow()
    switch use {
    case .save: break
    case .fetch: _ = try context.fetch(FetchRequest<Person>())
    case .lookup: _ = try context.existingObject(Person.self, with: scene.id)
    case .refresh:
      if isInChild { scene.root.refreshAllObjects() }
      try context.refresh(ada, mergeChanges: true)
    case .refreshAll:
      scene.root.refreshAllObjects()
      if isInChild { context.refreshAllObjects() }
    case .merge:
      let newest = try #require(try scene.fixture.container.fetchHistory(after: nil).last)
      try scene.root.mergeChanges(from: newest)
    }
    if use == .refresh || use == .refreshAll {
      #expect(ada.name == "Ada" && ada.age == 5 && ada.cars == [car] && !ada.isDeleted)
      #expect(context.updatedObjects == [ada])
    }
    try scene.save()
    #expect(ada.name == "Ada" && ada.age == 5 && ada.cars == [car])
    #expect(!ada.isDeleted && !context.hasChanges)
    #expect(try scene.fixture.stored(scene.id) ?? ("", 0, 0) == ("Ada", 5, 1))
  }

  @Test(.evidence("G-01"), .evidence("I-01"), arguments: [false, true])
  func `an undone edit is not stored if the row exists again`(isInChild: Bool) throws {
    let scene = try Scene(isInChild: isInChild, isCalled: false)
    let (context, ada) = (scene.context, scene.ada)
    context.tracksUndo = true
    ada.age = 5
    context.undo()
    #expect(ada.age == 0 && ada.isDeleted)
    try scene.restoreRow()
    try scene.save()
    #expect(try scene.fixture.stored(scene.id)?.age == 8)
  }

  @Test(.evidence("S-02"), .evidence("S-03"), arguments: [false, true], [false, true])
  func `a refresh keeps or discards edits`(isInChild: Bool, mergesChanges: Bool) throws {
    for isRestored in [false, true] {
      let scene = try Scene(isInChild: isInChild, isCalled: false)
      let (context, ada) = (scene.context, scene.ada)
      ada.age = 5
      if isRestored { try scene.restoreRow() }
      if isInChild { scene.root.refreshAllObjects() }
      try context.refresh(ada, mergeChanges: mergesChanges)
      #expect(ada.isUpdated == (mergesChanges && isRestored))
      #expect(ada.age == (mergesChanges ? 5 : isRestored ? 8 : 0))
      #expect(ada.isDeleted == !isRestored)
      try scene.save()
      #expect(try scene.fixture.stored(scene.id)?.age == (isRestored ? ada.age : nil))
    }
  }

  @Test(.evidence("S-09"), .evidence("I-01"), arguments: [false, true], [false, true])
  func `an insertion makes a new object`(isInChild: Bool, isCalled: Bool) throws {
    let scene = try Scene(isInChild: isInChild, isCalled: isCalled)
    let (context, ada) = (scene.context, scene.ada)
    let car = Car(context: context)
    car.owner = ada
    context.insert(ada)
    ada.name = "Eve"
    #expect(ada.isInserted && !ada.isDeleted && ada.objectID != scene.id)
    #expect(context.insertedObjects == [ada, car] && context.deletedObjects == [])
    #expect(car.owner === ada && ada.cars == [car])
    try scene.save()
    #expect(!context.hasChanges && ada.name == "Eve" && ada.cars == [car])
    #expect(try scene.fixture.stored(ada.objectID) ?? ("", 0, 0) == ("Eve", 0, 1))
    #expect(try scene.fixture.stored(scene.id) == nil)
  }
}
