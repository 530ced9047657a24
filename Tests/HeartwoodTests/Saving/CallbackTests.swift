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

/// A class whose objects are discarded if they are still empty when they are saved.
private final class Draft: ManagedObject {
  @Attribute var text: String = ""

  override func willSave() throws {
    if text.isEmpty { managedObjectContext?.delete(self) }
  }
}

/// A class whose `willSave` changes another object.
private final class Branch: ManagedObject {
  @Attribute var name: String = ""
  @Attribute var length: Int = 0
  @ToOne var trunk: Branch?
  @ToMany(inverse: \Branch.trunk) var twigs: Set<Branch>

  override func willSave() throws {
    if length != name.count { length = name.count }
    guard name == "loose" else { return }
    trunk?.name = "has a loose twig"
    name = "fixed"
  }
}

/// A class whose `willSave` computes values that depend on each other in several rounds.
private final class PricedOrder: ManagedObject {
  @Attribute var net: Int = 0
  @Attribute var tax: Int = 0
  @Attribute var total: Int = 0
  @Composite var stamp = OrderStamp()
  @ToOne(inverse: \OrderReceipt.order) var receipt: OrderReceipt?
  @ToMany(inverse: \OrderMark.order) var marks: Set<OrderMark>
  @Transient var callCount = 0

  override class var entity: Entity { Entity("PricedOrder") }

  override func willSave() throws {
    callCount += 1
    if net < 0 { net -= 1 }
    // Each round changes at most one property, after those that depend on it were compared.
    let values = (tax: net / 2, total: net + tax, copies: total / 5)
    if total != values.total { return total = values.total }
    if tax != values.tax { return tax = values.tax }
    if stamp.copies != values.copies { return stamp.copies = values.copies }
    guard let context = managedObjectContext else { return }
    if receipt == nil { return receipt = OrderReceipt(context: context) }
    if marks.count < values.copies { marks.insert(OrderMark(context: context)) }
  }
}

private struct OrderStamp: CompositeValue { var copies = 0 }

private final class OrderReceipt: ManagedObject { @ToOne var order: PricedOrder? }

private final class OrderMark: ManagedObject { @ToOne var order: PricedOrder? }

/// A class with a unique constraint, so that new objects record which properties are set.
private final class CodedOrder: ManagedObject {
  @Attribute(.unique) var code: String = "a"
  @Attribute var round: Int = 0

  override func willSave() throws { if round < 3 { round += 1 } }
}

@Suite("Object callbacks")
struct CallbackTests {
  @Test(.evidence("R-08"), arguments: ["members", "name", "nothing"])
  func `willSave is called again on an object that another object's willSave has changed`(
    change: String
  ) throws {
    let container = try PersistentContainer.inMemory(schema: Schema(Branch.self))
    let context = container.newContext()
    let (trunk, twig) = (Branch(context: context), Branch(context: context))
    (trunk.name, twig.name, twig.trunk) = ("trunk", "twig", trunk)
    try context.save()
    switch change {
    case "members":
      let new = Branch(context: context)
      (new.name, new.trunk) = ("new", trunk)
    case "name": trunk.name = "renamed"
    default: break
    }
    twig.name = "loose"
    try context.save()
    #expect(trunk.name == "has a loose twig" && trunk.length == trunk.name.count)
    #expect(twig.name == "fixed" && twig.length == twig.name.count)
    withExtendedLifetime(context) {}
  }

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

  @Test(.evidence("R-08"), arguments: [true, false], [true, false])
  func `willSave is called until new and changed objects converge`(
    isNew: Bool, isInChild: Bool
  ) throws {
    let fixture = try GraphFixture(Schema(PricedOrder.self, CodedOrder.self))
    let root = fixture.context()
    let context = isInChild ? fixture.child(of: root) : root
    let (order, coded) = (PricedOrder(context: context), CodedOrder(context: context))
    if !isNew { try context.save() }
    order.net = 10
    coded.round = 0
    try context.save()
    if isInChild { try root.save() }
    let fresh = fixture.context()
    let stored = try #require(try fresh.fetch(FetchRequest<PricedOrder>()).first)
    #expect(stored.tax == 5 && stored.total == 15 && stored.stamp.copies == 3)
    #expect(stored.receipt != nil && stored.marks.count == 3)
    #expect(try fresh.fetch(FetchRequest<CodedOrder>()).map(\.round) == [3])
    let before = order.callCount
    order.net = 10
    try context.save()
    // Assigning an equal value counts as a change before the save, but `willSave` changes nothing.
    #expect(order.callCount == before + 1)
  }

  @Test(.evidence("R-08"), .evidence("C-01"))
  func `willSave callbacks of new objects that never converge fail the save`() throws {
    let fixture = try GraphFixture(Schema(PricedOrder.self))
    let context = fixture.context()
    let order = PricedOrder(context: context)
    order.net = -1
    let error = #expect(throws: ObjectGraphError.self) { try context.save() }
    #expect(error?.kind == .saveDidNotConverge && context.insertedObjects.contains(order))
    #expect(try fixture.context().count(for: FetchRequest<PricedOrder>()) == 0)
    order.net = 2
    try context.save()
    let stored = try fixture.context().fetch(FetchRequest<PricedOrder>())
    #expect(stored.map(\.total) == [3])
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

  @Test func `a new object that deletes itself before it is saved leaves nothing to save`() throws {
    let fixture = try GraphFixture(Schema(Draft.self))
    let context = fixture.context()
    let before = try fixture.container.store.snapshot().generation
    _ = Draft(context: context)
    try context.save()
    #expect(!context.hasChanges)
    #expect(try fixture.container.store.snapshot().generation == before)
  }
}
