import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

@Suite("In-place mutation")
struct GrowthTests {
  @Test(
    .evidence("R-12"), .evidence("OB-04"),
    arguments: [(false, false), (true, false), (false, true)])
  func `thousands of in-place mutations take linear time`(tracksUndo: Bool, isObserved: Bool) throws
  {
    let fixture = try GraphFixture(orders)
    let context = fixture.context()
    context.tracksObservation = isObserved
    let order = Order(context: context)
    try context.save()
    context.tracksUndo = tracksUndo
    let count = TestScale.pick(quick: 1, all: 4) * (isObserved ? 1500 : 500)
    let duration = ThreadTime.seconds {
      for number in 0..<count {
        let (line, piece) = (OrderLine(context: context), Piece(context: context))
        line.number = number
        order.lines.append(line)
        order.pieces.insert(piece)
        order.keywords.append("word \(number)")
        order.note.append(UInt8(truncatingIfNeeded: number))
        order.remark = (order.remark ?? "") + "."
      }
    }
    // If each step examined all members, the test would take minutes (a sixteenth of that in a
    // quick run).
    #expect(duration < TestScale.pick(quick: 4, all: 20))
    #expect(order.lines.map(\.number) == Array(0..<count))
    #expect(order.lines.allSatisfy { $0.order === order } && order.pieces.count == count)
    #expect(order.keywords.count == count && order.note.count == count)
    try context.save()
    let found = fixture.context().object(Order.self, with: order.objectID)
    #expect(found.lines.map(\.number) == Array(0..<count) && found.pieces.count == count)
    #expect(found.keywords.last == "word \(count - 1)")
    for line in order.lines.reversed() { context.delete(line) }
    for piece in order.pieces { context.delete(piece) }
    #expect(order.lines.isEmpty && order.pieces.isEmpty)
    try context.save()
  }

  @Test(.evidence("R-12"), arguments: TestScale.seeds(quick: 3, all: 12))
  func `in-place mutations equal mutations of a copy`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let fixture = try GraphFixture(orders)
    let context = fixture.context()
    let order = Order(context: context)
    let other = Order(context: context)
    let lines = (0..<40).map { number in
      let line = OrderLine(context: context)
      line.number = number
      return line
    }
    let pieces = (0..<40).map { number in
      let piece = Piece(context: context)
      piece.number = number
      return piece
    }
    try context.save()
    for step in 0..<150 {
      let line = lines[random.below(lines.count)]
      let piece = pieces[random.below(pieces.count)]
      var list = order.lines
      var set = order.pieces
      let seedOfStep = UInt64(random.below(1 << 30))
      if random.isTrue(in256: 30) {
        // Change the relationships from the other side; the next in-place mutation must see the
        // changes.
        line.order = random.isTrue(in256: 128) ? order : other
        piece.order = random.isTrue(in256: 128) ? order : nil
        list = order.lines
        set = order.pieces
      }
      change(&order.lines, line, SeededGenerator(seed: seedOfStep))
      change(&list, line, SeededGenerator(seed: seedOfStep))
      change(&order.pieces, piece, pieces, SeededGenerator(seed: seedOfStep))
      change(&set, piece, pieces, SeededGenerator(seed: seedOfStep))
      var seen: Set<OrderLine> = []
      let expected = list.filter { seen.insert($0).inserted }
      #expect(order.lines == expected, "seed \(seed), step \(step)")
      #expect(order.pieces == set, "seed \(seed), step \(step)")
      for line in lines {
        #expect((line.order === order) == seen.contains(line), "seed \(seed), step \(step)")
      }
      for piece in pieces { #expect((piece.order === order) == set.contains(piece)) }
      if random.isTrue(in256: 10) {
        try context.save()
        let stored = fixture.context().object(Order.self, with: order.objectID)
        #expect(stored.lines.map(\.number) == order.lines.map(\.number), "seed \(seed)")
        #expect(stored.pieces.count == set.count, "seed \(seed)")
      }
    }
  }

  private func change(
    _ list: inout [OrderLine], _ line: OrderLine, _ generator: SeededGenerator
  ) {
    var random = generator
    switch random.below(9) {
    case 0, 1, 2: list.append(line)
    case 3: list.insert(line, at: random.below(list.count + 1))
    case 4: if !list.isEmpty { list.remove(at: random.below(list.count)) }
    case 5: if !list.isEmpty { list.swapAt(0, random.below(list.count)) }
    case 6: list.removeAll { $0.number % 5 == line.number % 5 }
    case 7: list.reverse()
    default:
      if !list.isEmpty { list[random.below(list.count)] = line }
    }
  }

  private func change(
    _ set: inout Set<Piece>, _ piece: Piece, _ pieces: [Piece], _ generator: SeededGenerator
  ) {
    var random = generator
    switch random.below(9) {
    case 0, 1, 2: set.insert(piece)
    case 3: set.remove(piece)
    case 4: set.formUnion(pieces.prefix(random.below(pieces.count)))
    case 5: set.subtract(pieces.suffix(random.below(pieces.count)))
    case 6: set = Set(pieces.prefix(random.below(8)))
    case 7:
      // Remove a member by its index, without hashing it, and insert another member.
      let first = set.map(\.number).min()
      if let index = set.indices.first(where: { set[$0].number == first }), !set.contains(piece) {
        set.remove(at: index)
        set.insert(piece)
      }
    default: set.formSymmetricDifference([piece])
    }
  }

  @Test(.evidence("R-12"))
  func `a property can be read during an in-place mutation`() throws {
    let fixture = try GraphFixture(orders)
    let context = fixture.context()
    let order = Order(context: context)
    let lines = (0..<3).map { _ in OrderLine(context: context) }
    func change<Value>(_ value: inout Value, _ body: (inout Value) throws -> Void) rethrows {
      try body(&value)
    }
    order.lines = [lines[0]]
    change(&order.lines) { list in
      list.append(lines[1])
      #expect(order.lines == [lines[0]])
      lines[2].order = order
      #expect(order.lines == [lines[0], lines[2]])
    }
    #expect(order.lines == [lines[0], lines[1]] && lines[2].order == nil)
    let piece = Piece(context: context)
    change(&order.pieces) { set in
      set.insert(piece)
      #expect(order.pieces.isEmpty)
      order.pieces.insert(Piece(context: context))
    }
    #expect(order.pieces == [piece])
    order.keywords = ["a"]
    change(&order.keywords) { words in
      words.append("b")
      #expect(order.keywords == ["a"] || order.keywords == [])
    }
    #expect(order.keywords == ["a", "b"])
    // If the closure throws, the changes that it has already made are kept.
    #expect(throws: CancellationError.self) {
      try change(&order.keywords) { words in
        words.append("c")
        throw CancellationError()
      }
    }
    #expect(order.keywords == ["a", "b", "c"])
    #expect(throws: CancellationError.self) {
      try change(&order.lines) { list in
        list.removeFirst()
        throw CancellationError()
      }
    }
    #expect(order.lines == [lines[1]] && lines[0].order == nil)
    try context.save()
  }

  @Test(.evidence("R-13"))
  func `in-place mutations reverted by hand leave nothing to save`() throws {
    let fixture = try GraphFixture(orders)
    let context = fixture.context()
    let order = Order(context: context)
    let lines = (0..<4).map { _ in OrderLine(context: context) }
    let label = Label(context: context)
    order.lines = lines
    try context.save()
    order.lines.swapAt(0, 3)
    #expect(context.updatedObjects == [order])
    order.lines.swapAt(0, 3)
    #expect(!context.hasChanges)
    order.labels.insert(label)
    #expect(context.updatedObjects == [order, label])
    order.labels.remove(label)
    #expect(!context.hasChanges)
    let fresh = fixture.context()
    let unloaded = fresh.object(Label.self, with: label.objectID)
    fresh.object(Order.self, with: order.objectID).labels.insert(unloaded)
    unloaded.orders = []
    #expect(!fresh.hasChanges)
  }
}
