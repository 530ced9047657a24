import Heartwood
import HeartwoodTestSupport
import Testing

@Suite("Positions restored by undo")
struct UndonePositionTests {
  enum Leaving: CaseIterable { case deletion, noOwner, otherOwner, newOwner }

  /// Returns the numbers of an order's lines, as stored.
  private func stored(_ fixture: GraphFixture, _ id: ManagedObjectID) -> [Int] {
    fixture.context().object(Order.self, with: id).lines.map(\.number)
  }

  @Test(.evidence("R-19"), arguments: [false, true])
  func `a member removed from an unloaded list and added again comes last`(isDirect: Bool)
    throws
  {
    let fixture = try GraphFixture(orders)
    let ids = try fixture.saved { context in
      let order = Order(context: context)
      for number in 0..<3 {
        let line = OrderLine(context: context)
        line.number = number
        order.lines.append(line)
      }
      return order
    }
    let context = fixture.context()
    let order: Order = context.object(with: ids.objectID)
    let line: OrderLine = context.object(with: ids.lines[0].objectID)
    if isDirect {
      #expect(order.$lines.remove(line) && order.$lines.append(line))
    } else {
      line.order = nil
      line.order = order
    }
    #expect(context.hasChanges)
    try context.save()
    #expect(stored(fixture, order.objectID) == [1, 2, 0])
    #expect(order.lines.map(\.number) == [1, 2, 0])
  }

  @Test(
    .evidence("G-01"), .evidence("G-03"), arguments: Leaving.allCases,
    [(false, false), (false, true), (true, false), (true, true)])
  func `undo returns a member removed from an unloaded list to its position`(
    leaving: Leaving, place: (isChild: Bool, saves: Bool)
  ) throws {
    let fixture = try GraphFixture(orders)
    let ids = try fixture.saved { context in
      let orders = [Order(context: context), Order(context: context)]
      for number in 0..<3 {
        let line = OrderLine(context: context)
        line.number = number
        orders[0].lines.append(line)
      }
      return (orders: orders, lines: orders[0].lines)
    }
    let (order, other) = (ids.orders[0].objectID, ids.orders[1].objectID)
    for (index, line) in ids.lines.map(\.objectID).enumerated() {
      let root = fixture.context()
      let context = place.isChild ? fixture.child(of: root) : root
      context.tracksUndo = true
      let own: OrderLine = context.object(with: line)
      switch leaving {
      case .deletion: context.delete(own)
      case .noOwner: own.order = nil
      case .otherOwner: own.order = context.object(Order.self, with: other)
      case .newOwner: own.order = Order(context: context)
      }
      if place.saves { try context.save() }
      #expect(context.object(Order.self, with: order).lines.count == 2)
      context.undo()
      #expect(context.object(Order.self, with: order).lines.map(\.number) == [0, 1, 2])
      try context.save()
      try root.save()
      #expect(stored(fixture, order) == [0, 1, 2], "\(index)")
    }
  }

  @Test(.evidence("G-02"), .evidence("R-01"), arguments: [false, true])
  func `undoing a move shows the position in the list to which others have moved the member`(
    readsList: Bool
  ) throws {
    let fixture = try GraphFixture(orders)
    let ids = try fixture.saved { context in
      let orders = (0..<3).map { _ in Order(context: context) }
      let lines = (0..<3).map { number in
        let line = OrderLine(context: context)
        line.number = number
        line.order = orders[number == 1 ? 0 : 2]
        return line
      }
      return (orders: orders, lines: lines)
    }
    let context = fixture.context()
    context.tracksUndo = true
    let own = ids.orders.map { context.object(Order.self, with: $0.objectID) }
    let line: OrderLine = context.object(with: ids.lines[1].objectID)
    line.order = own[1]
    try fixture.saved { other in
      let theirs: Order = other.object(with: own[2].objectID)
      theirs.lines.insert(other.object(with: line.objectID), at: 1)
    }
    context.refreshAllObjects()
    #expect(line.order === own[1])
    if readsList { #expect(own[2].lines.map(\.number) == [0, 2]) }
    context.undo()
    #expect(line.order === own[2] && own[2].lines.map(\.number) == [0, 1, 2])
    #expect(!context.hasChanges)
  }
}
