import Heartwood
import HeartwoodTestSupport
import Testing

@Suite("Detection of unsaved changes")
struct UnsavedChangesTests {
  private let fixture: GraphFixture
  private let context: ManagedObjectContext

  init() throws {
    fixture = try GraphFixture(crates)
    context = fixture.context()
  }

  @Test(.evidence("C-05"), .evidence("F-09"))
  func `setting a property to its value is not a change`() throws {
    let crate = Crate(context: context)
    crate.number = 5
    try context.save()
    crate.number = 5
    #expect(!context.hasChanges)
    #expect(context.updatedObjects == [])
    try fixture.saved { try $0.existingObject(Crate.self, with: crate.objectID)?.text = "new" }
    let token = try fixture.container.currentHistoryToken
    #expect(try context.fetch(FetchRequest<Crate>()).map(\.text) == ["new"])
    #expect(!context.hasChanges)
    try context.save()
    #expect(try fixture.container.currentHistoryToken == token)
  }

  @Test(.evidence("I-01"))
  func `reading an object that others have deleted is not a change`() throws {
    let crate = Crate(context: context)
    crate.number = 5
    try context.save()
    try fixture.saved { others in
      others.delete(try #require(try others.existingObject(Crate.self, with: crate.objectID)))
    }
    context.refreshAllObjects()
    #expect(crate.number == 0 && crate.isDeleted)
    #expect(!context.hasChanges && context.deletedObjects == [crate])
  }

  @Test(.evidence("N-03"))
  func `a save leaves no changes if a child with edits merges it`() throws {
    let crate = Crate(context: context)
    try context.save()
    let child = fixture.child(of: context)
    child.automaticallyMergesChangesFromParent = true
    let childCrate = try #require(try child.existingObject(Crate.self, with: crate.objectID))
    childCrate.text = "edited"
    context.delete(crate)
    try context.save()
    #expect(!context.hasChanges)
  }
}
