import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

private final class TimedNote: ManagedObject {
  @Attribute(.unique) var code: String = ""
  @Attribute var text: String = ""
  @Attribute var capitals: String = ""
  @Attribute var saved: Date? = nil

  override class var entity: Entity {
    Entity("TimedNote") {
      Derived(\TimedNote.capitals, .uppercase(\TimedNote.text))
      Derived(\TimedNote.saved, .now)
    }
  }
}

@Suite("Upserts into rows with derived attributes")
struct DerivedUpsertTests {
  /// Inserts a note with code "a" by a save or by a batch request.
  private func upsert(
    _ text: String, _ fixture: GraphFixture, _ policy: MergePolicy.Each, isBatch: Bool
  ) throws {
    let context = fixture.context()
    context.mergePolicy = policy.policy
    guard isBatch else {
      let note = TimedNote(context: context)
      (note.code, note.text) = ("a", text)
      return try context.save()
    }
    var isDone = false
    try context.execute(
      BatchInsertRequest<TimedNote> { row in
        (row[\.code], row[\.text]) = ("a", text)
        defer { isDone = true }
        return isDone
      })
  }

  private func note(_ context: ManagedObjectContext) throws -> TimedNote {
    try #require(try context.fetch(FetchRequest<TimedNote>()).first)
  }

  @Test(
    .evidence("C-11"), .evidence("BR-02"), .evidence("D-01"), .evidence("C-02"),
    arguments: MergePolicy.Each.allCases, [true, false])
  func `write nothing if they change nothing`(policy: MergePolicy.Each, isBatch: Bool) throws {
    guard policy != .error else { return }
    let fixture = try GraphFixture(Schema(TimedNote.self))
    try upsert("text", fixture, policy, isBatch: isBatch)
    let others = fixture.context()
    let theirs = try note(others)
    let (saved, changes) = (theirs.saved, try fixture.recordedChanges())
    try upsert("text", fixture, policy, isBatch: isBatch)
    #expect(try note(fixture.context()).saved == saved)
    #expect(try fixture.recordedChanges() == changes)
    // The object of the other context is not in conflict.
    theirs.text = "edited"
    try others.save()
    let edited = theirs.saved
    try upsert("new", fixture, policy, isBatch: isBatch)
    let stored = try note(fixture.context())
    #expect(stored.text == (policy.prefersMine ? "new" : "edited"))
    #expect(stored.capitals == stored.text.uppercased())
    #expect((stored.saved == edited) == policy.keepsStore && edited != saved)
  }
}
