import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

@Suite("Undo before an upsert")
struct UpsertUndoTests {
  @Test(.evidence("C-11"), .evidence("G-01"))
  func `a property counts as set unless that was undone`() throws {
    let fixture = try GraphFixture(purchases)
    try fixture.saved { context in
      let order = Purchase(context: context)
      (order.number, order.note, order.customer) = (7, "stored", Buyer(context: context))
      order.customer?.name = "stored"
    }
    let context = fixture.context()
    (context.tracksUndo, context.mergePolicy) = (true, .mergeByPropertyObjectTrump)
    let order = Purchase(context: context)
    order.number = 7
    context.endUndoGroup()
    (order.note, order.weight) = ("undone", 9)
    order.customer = Buyer(context: context)
    context.endUndoGroup()
    context.undo()
    context.redo()
    context.undo()
    order.weight = 3
    try context.save()
    #expect(order.note == "stored" && order.weight == 3 && order.customer?.name == "stored")
    let clash = Purchase(context: context)
    (clash.number, context.mergePolicy) = (7, .error)
    let error = try #require(throws: ObjectGraphError.self) { try context.save() }
    #expect(error.kind == .constraintConflict && error.entityName == "Purchase")
    #expect(error.description == error.message)
  }

  @Test(.evidence("C-11"), .evidence("S-09"))
  func `a property that was set before its object left the context counts as set`() throws {
    let fixture = try GraphFixture(purchases)
    try fixture.saved { context in
      let order = Purchase(context: context)
      (order.number, order.note) = (7, "stored")
    }
    let context = fixture.context()
    context.mergePolicy = .mergeByPropertyObjectTrump
    let order = Purchase(context: context)
    (order.number, order.note) = (7, "new")
    context.delete(order)
    context.insert(order)
    try context.save()
    let stored = try fixture.stored { try $0.fetch(FetchRequest<Purchase>()).map(\.note) }
    #expect(stored == ["new"])
  }

  @Test(.evidence("C-11"))
  func `a property that awakeFromInsert sets does not count as set`() throws {
    final class Ticket: ManagedObject {
      @Attribute(.unique) var number: Int = 0
      @Attribute var note: String = ""
      override class var entity: Entity { Entity("Ticket") }
      override func awakeFromInsert() { note = "fresh" }
    }
    let fixture = try GraphFixture(Schema(Ticket.self))
    try fixture.saved { context in
      let ticket = Ticket(context: context)
      (ticket.number, ticket.note) = (7, "stored")
    }
    let context = fixture.context()
    context.mergePolicy = .mergeByPropertyObjectTrump
    Ticket(context: context).number = 7
    try context.save()
    let stored = try fixture.stored { try $0.fetch(FetchRequest<Ticket>()).map(\.note) }
    #expect(stored == ["stored"])
  }

  @Test(.evidence("C-13"))
  func `later objects match the new values of a row and not its old ones`() throws {
    let fixture = try GraphFixture(purchases)
    try fixture.saved { context in
      let order = Purchase(context: context)
      (order.number, order.code) = (7, "old")
    }
    let context = fixture.context()
    context.mergePolicy = .mergeByPropertyObjectTrump
    let values = [
      (7, "old", "first"), (7, "new", "second"), (8, "old", "third"), (7, "new", "fourth"),
      (9, "new", "fifth"),
    ]
    for (number, code, note) in values {
      let order = Purchase(context: context)
      (order.number, order.code, order.note) = (number, code, note)
    }
    try context.save()
    let orders = try fixture.context().fetch(
      FetchRequest<Purchase>(sort: [SortDescriptor(\.number)]))
    #expect(orders.map(\.number) == [8, 9])
    #expect(orders.map(\.code) == ["old", "new"] && orders.map(\.note) == ["third", "fifth"])
  }
}
