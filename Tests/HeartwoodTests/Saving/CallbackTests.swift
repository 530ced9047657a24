import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

private final class Diary: ManagedObject {
  @Attribute var text: String = ""
  @Attribute var length: Int = 0
  @Attribute var rounds: Int = 0
  @Transient var entries: [String] = []

  override func awakeFromInsert() { entries.append("inserted") }
  override func awakeFromFetch() { entries.append("fetched") }
  override func willTurnIntoFault() { pages.append("will fault with \(text)") }
  override func didTurnIntoFault() { pages.append("is fault \(isFault)") }
  override func didSave() { entries.append("saved") }
  override func prepareForDeletion() { entries.append("deleting \(text)") }
  override func willSave() throws {
    if text == "endless" { rounds += 1 }
    // Assign only a new value, because any assignment counts as a change and makes `willSave` run
    // again.
    if length != text.count { length = text.count }
  }
  override func validate() throws {
    if text.isEmpty {
      throw ObjectGraphError(.validation, "A diary needs a text.", objectID: objectID)
    }
  }

  /// A property that is not stored, so that its value survives while the object is a fault.
  var pages: [String] = []
}

@Suite("Object callbacks")
struct CallbackTests {
  @Test(.evidence("R-08"), .evidence("R-10"))
  func `save callbacks may change objects`() throws {
    let fixture = try GraphFixture(Schema(Diary.self))
    let context = fixture.context()
    let diary = Diary(context: context)
    diary.text = "four"
    try context.save()
    #expect(diary.length == 4 && diary.entries == ["inserted", "saved"])
    diary.text = "seventh"
    try context.save()
    let found: Diary = try #require(
      try fixture.context().existingObject(with: diary.objectID))
    #expect(found.length == 7)
  }

  @Test(.evidence("R-08"))
  func `willSave callbacks that never converge fail the save`() throws {
    let fixture = try GraphFixture(Schema(Diary.self))
    let context = fixture.context()
    let diary = Diary(context: context)
    diary.text = "four"
    try context.save()
    diary.text = "endless"
    let error = #expect(throws: ObjectGraphError.self) { try context.save() }
    #expect(error?.kind == .saveDidNotConverge)
    #expect(context.updatedObjects == [diary])
    context.rollback()
    #expect(diary.text == "four")
  }

  @Test(.evidence("R-10"), .evidence("C-01"))
  func `validation reports all failures together`() throws {
    let fixture = try GraphFixture(Schema(Diary.self))
    let context = fixture.context()
    let diaries = (0..<3).map { _ in Diary(context: context) }
    diaries[1].text = "fine"
    let error = try #require(throws: ObjectGraphError.self) { try context.save() }
    #expect(error.kind == .validation && error.failures.count == 2)
    #expect(Set(error.failures.map(\.objectID)) == [diaries[0].objectID, diaries[2].objectID])
    #expect(try fixture.context().count(for: FetchRequest<Diary>()) == 0)
    for diary in diaries { diary.text = "fine" }
    try context.save()
    #expect(try fixture.context().count(for: FetchRequest<Diary>()) == 3)
  }

  @Test(.evidence("F-12"), .evidence("F-13"), .evidence("S-02"))
  func `fault callbacks run before and after`() throws {
    let fixture = try GraphFixture(Schema(Diary.self))
    let context = fixture.context()
    let diary = Diary(context: context)
    diary.text = "text"
    try context.save()
    diary.text = "other"
    try context.refresh(diary, mergeChanges: false)
    #expect(diary.pages == ["will fault with other", "is fault true"])
    #expect(diary.isFault && !context.hasChanges)
    #expect(diary.text == "text" && diary.entries == ["fetched"])
    context.delete(diary)
    #expect(diary.entries == ["fetched", "deleting text"])
    try context.save()
    #expect(diary.entries.last == "saved" && diary.isDeleted)
  }
}
