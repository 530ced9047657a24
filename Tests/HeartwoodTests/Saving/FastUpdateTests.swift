import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

private final class Shop: ManagedObject {
  @Attribute var name: String = ""
  @ToMany(inverse: \Order.shop) var orders: Set<Order>
  override class var entity: Entity { Entity("Shop") { Unique(\Shop.name) } }
}

private class Order: ManagedObject {
  @Attribute var code: String = ""
  @Attribute var number: Int = 0
  @Attribute var weight: Double? = nil
  @Attribute var note: String = ""
  @Attribute var sent: Date? = nil
  @Attribute var payload: Data = Data()
  @ToOne(inverse: \Shop.orders) var shop: Shop?
  @ToOne(inverse: \Receipt.order) var receipt: Receipt?
  override class var entity: Entity {
    Entity("Order") {
      Unique(\Order.code)
      Index(\Order.sent)
      Index(\Order.shop, \Order.number)
      TextIndex(\Order.note)
    }
  }
}

private final class GiftOrder: Order {
  @Attribute var card: String? = nil
  override class var entity: Entity { Entity("GiftOrder") }
}

private final class Receipt: ManagedObject {
  @Attribute var total: Int = 0
  @ToOne(inverse: \Order.receipt) var order: Order?
}

/// A class whose objects are written without consequences when they are inserted.
private final class Entry: ManagedObject {
  @Attribute var text: String = ""
}

@Suite("Fast updates")
struct FastUpdateTests {
  private static let schema = Schema(
    Shop.self, Order.self, GiftOrder.self, Receipt.self, Entry.self)
  private static let numbers = [0, -0.0, 1.5, .nan, .infinity]
  private static let notes = ["", "red", "red apples", "e\u{301}", "é", "green pears, red"]

  /// Changes one attribute, or sets it to the value that it already has.
  private func changeAttribute(_ order: Order, _ random: inout SeededGenerator) {
    switch random.below(7) {
    case 0: order.number = random.below(4)
    case 1:
      order.weight =
        random.isTrue(in256: 60) ? nil : Self.numbers[random.below(Self.numbers.count)]
    case 2: order.note = Self.notes[random.below(Self.notes.count)]
    case 3:
      let date = Date(timeIntervalSinceReferenceDate: Double(random.below(9)))
      order.sent = random.isTrue(in256: 60) ? nil : date
    case 4: order.payload = Data(random.bytes(random.below(30)))
    case 5: order.number = order.number
    default: (order as? GiftOrder)?.card = random.isTrue(in256: 60) ? nil : "card"
    }
  }

  /// Changes something that other rows may depend on.
  private func changeOther(
    _ order: Order, _ orders: [Order], _ context: ManagedObjectContext,
    _ random: inout SeededGenerator
  ) throws {
    switch random.below(6) {
    case 0: order.code = "c\(random.below(1000))"
    case 1: order.shop = try context.fetch(FetchRequest<Shop>()).randomElement(using: &random)
    case 2: order.receipt = random.isTrue(in256: 128) ? nil : Receipt(context: context)
    case 3: order.receipt = orders.randomElement(using: &random)?.receipt
    case 4: context.delete(order)
    default: Entry(context: context).text = "entry \(random.below(9))"
    }
  }

  private func insertOrders(_ context: ManagedObjectContext) throws {
    let shops = ["north", "south"].map { name in
      let shop = Shop(context: context)
      shop.name = name
      return shop
    }
    for number in 0..<20 {
      let order = number % 3 == 0 ? GiftOrder(context: context) : Order(context: context)
      order.code = "o\(number)"
      order.shop = number % 5 == 0 ? nil : shops[number % 2]
      if number % 4 == 0 {
        order.receipt = Receipt(context: context)
        order.receipt?.total = number
      }
    }
    try context.save()
  }

  /// Saves random changes to orders in two contexts, which change the same rows now and then.
  ///
  /// - Returns: The results that are visible to a program.
  private func run(
    seed: UInt64, policy: MergePolicy.Each, areOn: Bool
  ) throws -> (entries: [String: [[UInt8]]], seen: [String], count: Int) {
    var random = SeededGenerator(seed: seed)
    let fixture = try GraphFixture(Self.schema)
    try insertOrders(fixture.context())
    let contexts = [fixture.context(), fixture.context()]
    var seen: [String] = []
    for context in contexts {
      context.mergePolicy = policy.policy
      context.fastPaths.areOn = areOn
      context.tracksUndo = seed % 2 == 0
    }
    for _ in 0..<40 {
      let context = contexts[random.isTrue(in256: 190) ? 0 : 1]
      let request = FetchRequest<Order>(sort: [SortDescriptor(\.code)])
      let orders = try context.fetch(request)
      for _ in 0..<random.below(5) {
        if let order = orders.randomElement(using: &random) { changeAttribute(order, &random) }
      }
      if random.isTrue(in256: 50), let order = orders.randomElement(using: &random) {
        try changeOther(order, orders, context, &random)
      }
      if random.isTrue(in256: 20) { context.undo() }
      do {
        try context.save()
      } catch let error as ObjectGraphError {
        seen.append("\(error.kind) \(error.failures.count)")
        context.rollback()
      }
      seen.append("\(context.hasChanges) \(context.updatedObjects.count)")
      seen += orders.filter { !$0.isDeleted }.map(describe)
      if random.isTrue(in256: 90) { for each in contexts { each.refreshAllObjects() } }
    }
    seen += try fixture.recordedChanges()
    return (try fixture.storedEntries(), seen, contexts.reduce(0) { $0 + $1.fastPaths.updateCount })
  }

  private func describe(_ order: Order) -> String {
    "\(order.objectID.name) \(order.code) \(order.number) \(order.weight as Any) \(order.note) "
      + "\(order.sent as Any) \(order.payload.count) \(order.shop?.name ?? "none") "
      + "\(order.receipt?.total ?? -1) \(order.hasChanges) \(order.shop?.orders.count ?? 0)"
  }

  @Test(
    .evidence("C-01"), .evidence("H-02"), arguments: TestScale.seeds(quick: 3, all: 60),
    MergePolicy.Each.allCases)
  func `updates of attributes are the same with and without fast paths`(
    seed: UInt64, policy: MergePolicy.Each
  ) throws {
    let fast = try run(seed: seed, policy: policy, areOn: true)
    let slow = try run(seed: seed, policy: policy, areOn: false)
    #expect(fast.entries == slow.entries, "seed \(seed), \(policy)")
    #expect(fast.seen == slow.seen, "seed \(seed), \(policy)")
    // A custom policy may change relationships.
    #expect(policy == .custom ? fast.count == 0 : fast.count > 15, "seed \(seed): \(fast.count)")
    #expect(slow.count == 0, "seed \(seed)")
  }

  @Test(.evidence("V-02"))
  func `updates that can affect other rows, or may be too large, take no fast path`() throws {
    let fixture = try GraphFixture(Self.schema)
    let context = fixture.context()
    try insertOrders(context)
    let orders = try context.fetch(FetchRequest<Order>(sort: [SortDescriptor(\.code)]))
    let changes: [(Order) -> Void] = [
      { $0.code = "new" },
      { $0.shop = nil },
      { $0.payload = Data(repeating: 1, count: 1 << 20) },
      { order in
        order.number += 1
        Shop(context: context).name = "west"
      },
      { order in
        order.number += 1
        context.delete(orders[7])
      },
    ]
    for change in changes {
      change(orders[1])
      try context.save()
    }
    #expect(context.fastPaths.updateCount == 0)
    orders[1].number += 1
    Entry(context: context).text = "isolated"
    try context.save()
    #expect(context.fastPaths.updateCount == 1 && context.fastPaths.insertionCount == 1)
    let changed = FetchRequest<Order>(where: #Predicate { $0.number > 0 })
    #expect(try fixture.context().count(for: changed) == 1)
  }
}
