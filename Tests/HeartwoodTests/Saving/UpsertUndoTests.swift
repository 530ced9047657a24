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
}
