import Heartwood
import HeartwoodTestSupport
import Testing

/// A form in which a context can merge a save of another context.
enum MergedForm: CaseIterable { case transaction, changeSet, notification }

@Suite("Derived attributes recomputed by others")
struct DerivedMergingTests {
  @Test(.evidence("D-10"), .evidence("QG-55"), arguments: MergedForm.allCases, [false, true])
  func `appear after every form of merge`(form: MergedForm, isEdited: Bool) async throws {
    let fixture = try GraphFixture(towns)
    let ids = try fixture.saved { context in
      let (town, house) = (Town(context: context), House(context: context))
      (town.name, house.rooms, house.town) = ("Rome", 1, town)
      return [town, house]
    }.map(\.objectID)
    let (view, editor) = (fixture.context(), fixture.context())
    view.retainsRegisteredObjects = true
    let rome = try #require(try view.existingObject(Town.self, with: ids[0]))
    let house = try #require(try view.existingObject(House.self, with: ids[1]))
    #expect(rome.rooms == 1 && house.townName == "Rome")
    if isEdited { (rome.alias, house.height) = ("mine", 3) }
    // One save recomputes an attribute of the town, and the other one an attribute of the house.
    editor.object(House.self, with: ids[1]).rooms = 5
    try await merge(form, of: editor, into: view, fixture)
    #expect(rome.rooms == 5 && house.rooms == 5)
    editor.object(Town.self, with: ids[0]).name = "Roma"
    try await merge(form, of: editor, into: view, fixture)
    #expect(rome.name == "Roma" && house.townName == "Roma")
    #expect(view.updatedObjects == (isEdited ? [rome, house] : []))
    // The merged changes cause no conflict.
    try view.save()
    #expect(rome.alias == (isEdited ? "mine" : nil) && rome.rooms == 5)
  }

  /// Saves a context, and merges the save into another context.
  private func merge(
    _ form: MergedForm, of editor: ManagedObjectContext, into view: ManagedObjectContext,
    _ fixture: GraphFixture
  ) async throws {
    let before = try fixture.container.newContext(pinnedTo: .current)
    _ = try before.count(for: FetchRequest<Town>())
    let source = try #require(before.queryGenerationToken)
    var changes = editor.changes.makeAsyncIterator()
    try editor.save()
    switch form {
    case .transaction:
      let newest = try #require(try fixture.container.fetchHistory(after: nil).last)
      try view.mergeChanges(from: newest)
    case .changeSet:
      try view.mergeChanges(fixture.container.changes(from: source, to: .current))
    case .notification:
      while let change = await changes.next(isolation: nil) {
        try view.mergeChanges(from: change)
        if change.kind == .didSave {
          // Derived attributes do not count as changes to their objects.
          #expect(change.updated.count == 1)
          break
        }
      }
    }
    withExtendedLifetime(before) {}
  }
}
