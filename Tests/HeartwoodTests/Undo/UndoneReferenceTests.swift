import Heartwood
import HeartwoodTestSupport
import Testing

@Suite("References restored by undo")
struct UndoneReferenceTests {
  enum Reading: CaseIterable {
    case never, beforeDeletion, afterDeletion, afterSave, valueAfterSave
  }

  @Test(.evidence("G-03"), .evidence("R-18"), arguments: Reading.allCases, [false, true])
  func `undoing a saved deletion restores references, whether or not they were read`(
    reading: Reading, redoes: Bool
  ) throws {
    let fixture = try GraphFixture(crates)
    let former = try fixture.saved { other in
      let (crate, item) = (Crate(context: other), CrateItem(context: other))
      item.text = "item"
      crate.favourite = item
      return (crate: crate, item: item)
    }
    let (crateID, itemID) = (former.crate.objectID, former.item.objectID)
    let context = fixture.context()
    context.tracksUndo = true
    let crate = try #require(try context.existingObject(Crate.self, with: crateID))
    let item = try #require(try context.existingObject(CrateItem.self, with: itemID))
    if reading == .beforeDeletion { #expect(crate.favourite === item) }
    context.delete(item)
    if reading == .afterDeletion { #expect(crate.favourite === item) }
    try context.save()
    if reading == .afterSave { _ = crate.favourite }
    if reading == .valueAfterSave { #expect(["", "item"].contains(crate.favourite?.text)) }
    context.undo()
    if redoes {
      try context.save()
      context.redo()
      try context.save()
      context.undo()
    }
    #expect(crate.favourite === item && item.isInserted && item.text == "item")
    try context.save()
    #expect(crate.favourite === item)
    let stored = fixture.context().object(Crate.self, with: crateID)
    #expect(stored.favourite?.text == "item")
    #expect(stored.favourite?.objectID == item.objectID && item.objectID != itemID)
  }
}
