import Heartwood
import HeartwoodTestSupport
import Testing

final class Badge: ManagedObject {
  @Attribute var code: String = ""
  @Attribute var level: Int = 0
  @Attribute var origin: String = ""
  @ToOne var holder: Holder?

  override class var entity: Entity { Entity("Badge") { Unique(\Badge.code) } }

  override func awakeFromInsert() { origin = "awoken" }
}

final class Holder: ManagedObject {
  @Attribute var name: String = ""
  @ToMany(inverse: \Badge.holder) var badges: Set<Badge>
}

@Suite("Assigned properties of new objects")
struct ObjectChangesTests {
  private enum Slot {
    static let (code, level, origin, holder) = (0, 1, 2, 3)
  }

  private func slots(_ badge: Badge) -> [Int] { (0..<4).filter { badge.assigned.contains($0) } }

  @Test func `assigned properties are recorded for entities with unique constraints`() throws {
    let fixture = try GraphFixture(Schema(Holder.self))
    let context = fixture.context()
    let badge = Badge(context: context)
    #expect(slots(badge) == [] && badge.origin == "awoken")
    badge.level += 1
    #expect(slots(badge) == [Slot.level])
    let holder = Holder(context: context)
    holder.badges.insert(badge)
    #expect(slots(badge) == [Slot.level, Slot.holder])
    holder.name = "Ada"
    #expect(holder.assigned.isEmpty)
    try context.save()
    #expect(slots(badge) == [])
  }

  @Test func `assignments before insertion and after a reverted insertion are recorded`() throws {
    let fixture = try GraphFixture(Schema(Holder.self))
    let context = fixture.context()
    let badge = Badge()
    badge.code = "a"
    badge.holder = Holder()
    context.insert(badge)
    #expect(slots(badge) == [Slot.code, Slot.holder] && badge.origin == "awoken")
    context.rollback()
    context.insert(badge)
    #expect(slots(badge).contains(Slot.code) && !slots(badge).contains(Slot.level))
    context.tracksUndo = true
    badge.level = 2
    context.endUndoGroup()
    context.undo()
    context.redo()
    #expect(badge.level == 2 && slots(badge).contains(Slot.level))
  }

  @Test func `assigned properties are passed to the parent context`() throws {
    let fixture = try GraphFixture(Schema(Holder.self))
    let parent = fixture.context()
    let child = ManagedObjectContext(parent: parent)
    let badge = Badge(context: child)
    badge.level = 3
    try child.save()
    let parentBadge = try #require(parent.insertedObjects.first as? Badge)
    #expect(parentBadge.level == 3 && slots(parentBadge) == [Slot.level])
    badge.code = "b"
    try child.save()
    #expect(parentBadge.code == "b" && slots(parentBadge) == [Slot.code, Slot.level])
  }
}
