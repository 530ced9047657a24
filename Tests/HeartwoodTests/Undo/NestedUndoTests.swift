import Heartwood
import HeartwoodTestSupport
import Testing

@Suite("Undo and saves of child contexts")
struct NestedUndoTests {
  enum Edit: CaseIterable { case reference, list, otherList, insertion }

  @Test(
    .evidence("G-03"), .evidence("R-01"), arguments: Edit.allCases, [false, true])
  func `undoing a relationship change saved by a child restores both sides of the relationship`(
    edit: Edit, editsOwner: Bool
  ) throws {
    let fixture = try GraphFixture(crates)
    let parent = fixture.context()
    let owners = (0..<2).map { _ in Crate(context: parent) }
    let (item, tag) = (CrateItem(context: parent), CrateTag(context: parent))
    owners[0].items = [item]
    try parent.save()
    let child = fixture.child(of: parent)
    child.tracksUndo = true
    let own = owners.map { child.object(Crate.self, with: $0.objectID) }
    let ownItem = child.object(CrateItem.self, with: item.objectID)
    let ownTag = child.object(CrateTag.self, with: tag.objectID)
    if editsOwner { own[1].number = 3 }
    switch edit {
    case .reference: ownItem.crate = own[1]
    case .list: ownItem.tags = [ownTag]
    case .otherList: ownTag.items = [ownItem]
    case .insertion: CrateItem(context: child).crate = own[1]
    }
    func checkObjects(
      _ owners: (Crate, Crate), _ item: CrateItem, _ tag: CrateTag, isEdited: Bool,
      location: SourceLocation = #_sourceLocation
    ) {
      let moves = isEdited && edit == .reference
      let relates = isEdited && (edit == .list || edit == .otherList)
      let inserts = isEdited && edit == .insertion
      #expect(item.crate === (moves ? owners.1 : owners.0), sourceLocation: location)
      #expect(owners.0.items == (moves ? [] : [item]), sourceLocation: location)
      #expect(owners.1.items.count == (moves || inserts ? 1 : 0), sourceLocation: location)
      #expect(item.tags == (relates ? [tag] : []), sourceLocation: location)
      #expect(tag.items == (relates ? [item] : []), sourceLocation: location)
    }
    func check(isEdited: Bool, location: SourceLocation = #_sourceLocation) throws {
      checkObjects((own[0], own[1]), ownItem, ownTag, isEdited: isEdited, location: location)
      try child.save()
      checkObjects((own[0], own[1]), ownItem, ownTag, isEdited: isEdited, location: location)
      checkObjects((owners[0], owners[1]), item, tag, isEdited: isEdited, location: location)
    }
    try child.save()
    try check(isEdited: true)
    child.undo()
    try check(isEdited: false)
    child.redo()
    try check(isEdited: true)
    child.undo()
    try check(isEdited: false)
    try parent.save()
  }

  @MainActor @Test(.mustEnd, .evidence("G-04"))
  func `an undo group of a child context ends with the event`() async throws {
    let container = try PersistentContainer.inMemory(schema: people)
    let child = ManagedObjectContext(parent: container.viewContext)
    child.tracksUndo = true
    child.groupsUndoByEvent = true
    var groupCount = 0
    child.undoGroupBegan = { groupCount += 1 }
    let ada = Person(context: child)
    #expect(groupCount == 1)
    for _ in 0..<100_000 where groupCount == 1 {
      await Task.yield()
      ada.age += 1
    }
    try #require(groupCount == 2)
    let age = ada.age
    child.undo()
    #expect(ada.age == age - 1 && ada.isInserted && child.canUndo)
    child.undo()
    #expect(!ada.isInserted && !child.canUndo)
    withExtendedLifetime(container) {}
  }
}
