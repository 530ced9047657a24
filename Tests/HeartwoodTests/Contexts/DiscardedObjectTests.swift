import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

@Suite("Objects that left their context")
struct DiscardedObjectTests {
  enum Discarding: CaseIterable, Sendable {
    case rollback, delete, undo, reset

    func apply(to object: ManagedObject, _ context: ManagedObjectContext) {
      switch self {
      case .rollback: context.rollback()
      case .delete: context.delete(object)
      case .undo: context.undo()
      case .reset: context.reset()
      }
    }
  }

  @Test(.evidence("S-08"), arguments: Discarding.allCases)
  func `an object without a context can be read and written but has no relationships`(
    discarding: Discarding
  )
    throws
  {
    let fixture = try GraphFixture(orders)
    let context = fixture.context()
    context.tracksUndo = discarding == .undo
    let order = Order(context: context)
    let line = OrderLine(context: context)
    order.title = "draft"
    context.endUndoGroup()
    if discarding == .undo { order.title = "draft, changed" }
    order.lines = [line]
    order.pieces = [Piece(context: context)]
    order.invoice = Invoice(context: context)
    if discarding == .undo {
      context.undo()
      #expect(order.title == "draft")
    }
    discarding.apply(to: order, context)
    #expect(order.managedObjectContext == nil && !order.isInserted && !order.hasChanges)
    #expect(order.title == (discarding == .undo ? "" : "draft"))
    #expect(order.lines.isEmpty && order.pieces.isEmpty && order.invoice == nil)
    #expect(line.order == nil)
    _ = order.objectID
    order.title += " again"
    order.keywords.append("word")
    order.remark = "remark"
    #expect(order.title.hasSuffix(" again") && order.keywords == ["word"])
    #expect(!context.hasChanges || discarding == .delete)
    // The relationships of a discarded object can be set, but their inverses are not updated.
    order.lines.append(line)
    order.invoice = Invoice()
    order.pieces.insert(Piece())
    #expect(order.lines == [line] && order.invoice != nil && order.pieces.count == 1)
    context.rollback()
    try context.save()
  }

  @Test(.evidence("S-08"), arguments: Discarding.allCases)
  func `deleting an object without a row twice does nothing`(discarding: Discarding) throws {
    let fixture = try GraphFixture(orders)
    let context = fixture.context()
    context.tracksUndo = discarding == .undo
    let order = Order(context: context)
    discarding.apply(to: order, context)
    context.delete(order)
    context.delete(order)
    try context.save()
    #expect(try context.count(for: FetchRequest<Order>()) == 0)
  }

  @Test(.evidence("S-08"))
  func `after a reset an object keeps its loaded values and a fault has those of a new object`()
    throws
  {
    let fixture = try GraphFixture()
    let ids = (try fixture.person("Ada", age: 36, cars: 1), try fixture.person("Bob", age: 2))
    let context = fixture.context()
    let (ada, bob): (Person, Person) = (context.object(with: ids.0), context.object(with: ids.1))
    #expect(ada.age == 36 && ada.cars.count == 1)
    context.reset()
    #expect(ada.name == "Ada" && ada.cars.isEmpty && ada.objectID == ids.0)
    #expect(bob.name == "" && bob.age == 0 && bob.cars.isEmpty)
    ada.age = 1
    bob.age = 1
    ada.age += 1
    #expect(ada.age == 2 && bob.age == 1 && !context.hasChanges)
  }

  @Test(.evidence("S-08"), arguments: Discarding.allCases)
  func `an object without a context is deallocated with its last reference`(discarding: Discarding)
    throws
  {
    let fixture = try GraphFixture(orders)
    let context = fixture.context()
    context.tracksUndo = discarding == .undo
    weak var order: Order?
    weak var line: OrderLine?
    weak var piece: Piece?
    weak var invoice: Invoice?
    do {
      let new = Order(context: context)
      new.lines = [OrderLine(context: context)]
      new.pieces.insert(Piece(context: context))
      new.invoice = Invoice(context: context)
      (order, line, piece, invoice) = (new, new.lines[0], new.pieces.first, new.invoice)
      #expect(line?.order === new && piece?.order === new && invoice?.order === new)
      discarding.apply(to: new, context)
      // The redo history retains the object until a new change clears it.
      if discarding == .undo { Label(context: context).name = "other" }
    }
    #expect(order == nil && line == nil && piece == nil && invoice == nil)
  }

  @Test(.evidence("S-09"))
  func `an object that left a context becomes new when it is inserted again`() throws {
    let fixture = try GraphFixture(orders)
    let context = fixture.context()
    let order = Order(context: context)
    order.title = "draft"
    let first = order.objectID
    context.rollback()
    context.insert(order)
    #expect(order.isInserted && order.objectID != first && order.title == "draft")
    try context.save()
    // An object can also be inserted again after its row has been deleted.
    context.delete(order)
    try context.save()
    let other = fixture.context()
    other.insert(order)
    order.lines = [OrderLine(context: other)]
    try other.save()
    #expect(order.managedObjectContext === other && !order.isDeleted)
    let stored = try fixture.context().fetch(FetchRequest<Order>())
    #expect(stored.map(\.title) == ["draft"] && stored.first?.lines.count == 1)
    // If an object's insertion was reverted, adding the object to a relationship inserts it again.
    let line = OrderLine(context: other)
    other.delete(line)
    order.lines.append(line)
    #expect(line.isInserted && line.order === order)
    try other.save()
  }

  @Test(.evidence("R-14"))
  func `an object created without a context takes part in relationships once it is inserted`()
    throws
  {
    let fixture = try GraphFixture(orders)
    let context = fixture.context()
    let order = Order()
    order.title = "new"
    order.lines = (0..<3).map { number in
      let line = OrderLine()
      line.number = number
      return line
    }
    order.pieces.insert(Piece())
    order.invoice = Invoice()
    #expect(order.lines.map(\.number) == [0, 1, 2] && order.invoice?.order == nil)
    context.insert(order)
    #expect(context.insertedObjects.count == 6)
    #expect(order.lines.map(\.number) == [0, 1, 2])
    #expect(order.lines.allSatisfy { $0.order === order })
    #expect(order.pieces.first?.order === order && order.invoice?.order === order)
    // An object that becomes related to an inserted object is inserted into the same context.
    let line = OrderLine()
    line.order = order
    #expect(line.managedObjectContext === context && order.lines.last === line)
    let label = Label()
    label.orders.insert(order)
    #expect(label.isInserted && order.labels == [label])
    try context.save()
    let found = fixture.context().object(Order.self, with: order.objectID)
    #expect(found.lines.count == 4 && found.pieces.count == 1 && found.labels.count == 1)
  }

  @Test(.evidence("R-15"))
  func `long chains of objects are released without recursion`() throws {
    try onSmallStack {
      let container = try PersistentContainer.inMemory(schema: Schema(Link.self))
      let count = TestScale.pick(quick: 10_000, all: 200_000)
      // First, create and release a chain of objects that belong to no context.
      var free: Link? = Link()
      for _ in 0..<count {
        let next = Link()
        next.next = free
        free = next
      }
      free = nil
      // Then do the same with saved objects, all of them retained only through the first object.
      let context = container.newContext()
      var head: Link? = Link(context: context)
      var tail = head
      for _ in 0..<count {
        let next = Link(context: context)
        tail?.next = next
        tail = next
      }
      tail = nil
      try context.save()
      context.refreshAllObjects()
      var link = head
      while let next = link?.next { link = next }
      link = nil
      head = nil
      #expect(context.registeredObjects.isEmpty)
    }
  }

  @Test(.evidence("R-15"), arguments: [false, true])
  func `long chains of objects are deleted without recursion`(isSaved: Bool) throws {
    try onSmallStack {
      let container = try PersistentContainer.inMemory(schema: Schema(Link.self))
      let context = container.newContext()
      let head = Link(context: context)
      let count = TestScale.pick(quick: 5000, all: 100_000)
      var tail = head
      for _ in 0..<count {
        let next = Link(context: context)
        tail.next = next
        tail = next
      }
      if isSaved { try context.save() }
      context.delete(head)
      #expect(context.deletedObjects.count == (isSaved ? count + 1 : 0))
      try context.save()
      #expect(try context.count(for: FetchRequest<Link>()) == 0)
    }
  }
}

/// Runs `body` on a thread with the stack size of secondary threads on Darwin.
func onSmallStack(_ body: @escaping @Sendable () throws -> Void) throws {
  final class Outcome: @unchecked Sendable {
    // @unchecked because `error` is written before the signal, and read only after it.
    var error: (any Error)?
  }
  let (outcome, end) = (Outcome(), DispatchSemaphore(value: 0))
  let thread = Thread {
    do { try body() } catch { outcome.error = error }
    end.signal()
  }
  thread.stackSize = 512 * 1024
  thread.start()
  end.wait()
  if let error = outcome.error { throw error }
}
