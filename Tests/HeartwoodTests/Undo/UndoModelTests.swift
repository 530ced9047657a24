import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

@Suite("Undo of random changes")
struct UndoModelTests {
  /// An event that occurs between the changes and the first undo.
  enum Disturbance: CaseIterable, Sendable {
    case nothing, refreshAll, faults, othersSave
  }

  @Test(
    .evidence("G-02"), arguments: TestScale.some(Array(UInt64(11)..<24), every: 4),
    Disturbance.allCases)
  func `undo restores each state and leaves nothing in the end`(
    seed: UInt64, disturbance: Disturbance
  ) throws {
    var run = try UndoRun(seed: seed)
    try run.begin()
    var states = [run.shown()]
    for _ in 0..<10 {
      run.change()
      run.context.endUndoGroup()
      states.append(run.shown())
    }
    // A group without changes cannot be undone, so remove repeated states.
    states = states.enumerated().filter { $0.offset == 0 || $0.element != states[$0.offset - 1] }
      .map(\.element)
    let note = Comment(rawValue: "seed \(seed), \(disturbance)")
    try run.disturb(disturbance)
    var undone = 0
    while run.context.canUndo {
      run.context.undo()
      undone += 1
      if disturbance != .othersSave {
        #expect(states.contains(run.shown()), note)
      }
    }
    #expect(!run.context.hasChanges && run.context.updatedObjects.isEmpty, note)
    #expect(run.changedObjects == [], note)
    if disturbance != .othersSave { #expect(run.shown() == states[0], note) }
    for _ in 0..<undone { run.context.redo() }
    #expect(!run.context.canRedo)
    if disturbance != .othersSave { #expect(run.shown() == states.last, note) }
    for _ in 0..<undone { run.context.undo() }
    #expect(!run.context.hasChanges, note)
    try run.othersSave()
    // The context has nothing to write, so the save does not conflict.
    try run.context.save()
    #expect(!run.context.hasChanges, note)
    for _ in 0..<3 {
      run.change()
      run.context.endUndoGroup()
    }
    if disturbance == .nothing || disturbance == .faults {
      run.context.refreshAllObjects()
      try run.saveAndCompare(note)
    }
  }
}

/// Makes random changes to orders and their related objects.
private struct UndoRun {
  let fixture: GraphFixture
  let context: ManagedObjectContext
  var random: SeededGenerator
  var orders: [Order] = []
  var lines: [OrderLine] = []
  var pieces: [Piece] = []
  var labels: [Label] = []
  var invoices: [Invoice] = []

  init(seed: UInt64) throws {
    fixture = try GraphFixture(HeartwoodTests.orders)
    context = fixture.context()
    random = SeededGenerator(seed: seed)
  }

  /// All objects, in the order in which they were created.
  var all: [ManagedObject] = []

  private mutating func make<Object: ManagedObject>(_ type: Object.Type) -> Object {
    let object = Object()
    context.insert(object)
    all.append(object)
    return object
  }

  mutating func begin() throws {
    for number in 0..<3 {
      let order = make(Order.self)
      order.title = "order \(number)"
      orders.append(order)
      for _ in 0..<4 { addLine(to: order) }
      for _ in 0..<3 {
        let piece = make(Piece.self)
        piece.order = order
        pieces.append(piece)
      }
      let (label, invoice) = (make(Label.self), make(Invoice.self))
      label.name = "label \(number)"
      order.labels.insert(label)
      order.invoice = invoice
      labels.append(label)
      invoices.append(invoice)
    }
    try context.save()
    context.refreshAllObjects()
    context.tracksUndo = true
  }

  private mutating func addLine(to order: Order?) {
    let line = make(OrderLine.self)
    line.number = lines.count
    line.order = order
    lines.append(line)
  }

  private mutating func any<Object: ManagedObject>(_ objects: [Object]) -> Object? {
    let there = objects.filter { $0.managedObjectContext === context && !$0.isDeleted }
    return there.isEmpty ? nil : there[random.below(there.count)]
  }

  mutating func change() {
    for _ in 0...random.below(4) { changeOnce() }
  }

  private mutating func changeOnce() {
    guard let order = any(orders), let other = any(orders) else { return }
    let line = any(lines)
    switch random.below(20) {
    case 0: order.title = "title \(random.below(4))"
    case 1: order.keywords.append("word")
    case 2: order.remark = random.isTrue(in256: 128) ? nil : "remark"
    case 3: line?.order = order
    case 4: line?.order = nil
    case 5: if let line { order.lines.append(line) }
    case 6: order.lines.shuffle(using: &random)
    case 7: if !order.lines.isEmpty { order.lines.remove(at: random.below(order.lines.count)) }
    case 8: order.lines = other.lines.reversed()
    case 9: any(pieces)?.order = order
    case 10: order.pieces = other.pieces
    case 11: if let piece = any(pieces) { order.pieces.remove(piece) }
    case 12: if let label = any(labels) { order.labels.insert(label) }
    case 13: if let label = any(labels) { label.orders.remove(order) }
    case 14: any(labels)?.orders = [order, other]
    case 15: order.invoice = any(invoices)
    case 16: addLine(to: random.isTrue(in256: 128) ? order : nil)
    case 17: if let line { context.delete(line) }
    case 18: if random.isTrue(in256: 80) { context.delete(order) }
    default:
      if random.isTrue(in256: 80) {
        let new = make(Order.self)
        new.title = "new"
        new.lines = Array(order.lines.prefix(2))
        new.labels = order.labels
        orders.append(new)
      }
    }
  }

  /// Returns the content of the context, with each object identified by its position in `all`.
  func shown() -> [String] {
    func position(_ object: ManagedObject?) -> String {
      object.flatMap { one in all.firstIndex { $0 === one } }.map { "\($0)" } ?? "-"
    }
    func positions(_ objects: some Sequence<ManagedObject>) -> String {
      objects.map(position).sorted().joined(separator: " ")
    }
    return all.map { object in
      guard object.managedObjectContext === context, !object.isDeleted else { return "" }
      switch object {
      case let order as Order:
        return "\(order.title) \(order.keywords.count) \(order.remark ?? "") | "
          + order.lines.map(position).joined(separator: " ") + " | " + positions(order.pieces)
          + " | "
          + positions(order.labels) + " | " + position(order.invoice)
      case let line as OrderLine: return position(line.order)
      case let piece as Piece: return position(piece.order)
      case let label as Label: return positions(label.orders)
      case let invoice as Invoice: return position(invoice.order)
      default: return "?"
      }
    }
    // New objects are at the end of `all`. Drop the empty entries for objects whose insertion was
    // undone.
    .reversed().drop { $0.isEmpty }.reversed()
  }

  mutating func disturb(_ disturbance: UndoModelTests.Disturbance) throws {
    switch disturbance {
    case .nothing: return
    case .refreshAll: context.refreshAllObjects()
    case .faults:
      for object in all where object.managedObjectContext === context && !object.hasChanges {
        try context.refresh(object, mergeChanges: false)
      }
    case .othersSave:
      try othersSave()
      context.refreshAllObjects()
    }
  }

  /// Descriptions of the objects that have changes, with their positions in `all`.
  var changedObjects: [String] {
    all.enumerated().filter { $0.element.hasChanges }.map { "\($0.offset) \($0.element)" }
  }

  /// Changes attributes in another context, and saves the changes.
  func othersSave() throws {
    let other = fixture.context()
    for order in try other.fetch(FetchRequest<Order>()) {
      order.title = "theirs"
      order.note.append(1)
    }
    try other.save()
  }

  func saveAndCompare(_ note: Comment) throws {
    try context.save()
    let before = shown()
    context.refreshAllObjects()
    #expect(shown() == before, note)
  }
}
