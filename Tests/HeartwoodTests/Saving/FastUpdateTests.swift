import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

private final class Market: ManagedObject {
  @Attribute var name: String = ""
  @Attribute var rank: Int = 0
  @ToMany(inverse: \Sale.market) var sales: Set<Sale>
  override class var entity: Entity { Entity("Market") { Unique(\Market.name) } }
}

private class Sale: ManagedObject {
  @Attribute var code: String = ""
  @Attribute var number: Int = 0
  @Attribute var weight: Double? = nil
  @Attribute var note: String = ""
  @Attribute var sent: Date? = nil
  @Attribute var payload: Data = Data()
  @ToOne var market: Market?
  @ToOne(inverse: \SaleInvoice.sale) var invoice: SaleInvoice?
  @ToMany(inverse: \SaleTag.sales) var tags: Set<SaleTag>
  override class var entity: Entity {
    Entity("Sale") {
      Unique(\Sale.code)
      Index(\Sale.sent)
      Index(\Sale.number, \Sale.sent)
      TextIndex(\Sale.note)
    }
  }
}

private final class GiftSale: Sale {
  @Attribute var card: String? = nil
  override class var entity: Entity { Entity("GiftSale") }

  /// Shows values that the row does not have.
  override func awakeFromFetch() { (sent, note) = (nil, "red, shown") }
}

private final class SaleInvoice: ManagedObject {
  @Attribute var total: Int = 0
  @ToOne var sale: Sale?
}

private final class SaleTag: ManagedObject {
  @ToMany var sales: Set<Sale>
}

/// A class whose objects are written without consequences when they are inserted.
private final class LooseNote: ManagedObject {
  @Attribute var text: String = ""
}

@Suite("Fast updates")
struct FastUpdateTests {
  private static let schema = Schema(
    Market.self, Sale.self, GiftSale.self, SaleInvoice.self, SaleTag.self, LooseNote.self)
  private static let numbers = [0, -0.0, 1.5, .nan, .infinity]
  private static let notes = ["", "red", "red apples", "e\u{301}", "é", "green pears, red"]

  /// Changes one attribute, or sets it to the value that it already has.
  private func changeAttribute(_ sale: Sale, _ random: inout SeededGenerator) {
    switch random.below(8) {
    case 0: sale.number = random.below(4)
    case 1:
      sale.weight =
        random.isTrue(in256: 60) ? nil : Self.numbers[random.below(Self.numbers.count)]
    case 2: sale.note = Self.notes[random.below(Self.notes.count)]
    case 3:
      let date = Date(timeIntervalSinceReferenceDate: Double(random.below(9)))
      sale.sent = random.isTrue(in256: 60) ? nil : date
    case 4: sale.payload = Data(random.bytes(random.below(30)))
    case 5: sale.number = sale.number
    case 6: sale.market?.rank = random.below(4)
    default: (sale as? GiftSale)?.card = random.isTrue(in256: 60) ? nil : "card"
    }
  }

  /// Changes something that other rows may depend on.
  private func changeOther(
    _ sale: Sale, _ sales: [Sale], _ context: ManagedObjectContext,
    _ random: inout SeededGenerator
  ) throws {
    switch random.below(10) {
    case 0: sale.code = "c\(random.below(1000))"
    case 1: sale.market = try context.fetch(FetchRequest<Market>()).randomElement(using: &random)
    case 2: sale.invoice = random.isTrue(in256: 128) ? nil : SaleInvoice(context: context)
    case 3: sale.invoice = sales.randomElement(using: &random)?.invoice
    case 4: context.delete(sale)
    case 5: if let market = sale.market { context.delete(market) }
    case 6: sale.tags.insert(SaleTag(context: context))
    case 7:
      // Choose a tag by its ID, because the order of a set differs in each run.
      let tags = sales.randomElement(using: &random)?.tags ?? []
      let names = tags.map { (name: $0.objectID.name, tag: $0) }
      let first = names.min { ($0.name.count, $0.name) < ($1.name.count, $1.name) }
      if let first { sale.tags.insert(first.tag) }
    case 8:
      let double = Sale(context: context)
      double.code = sales.randomElement(using: &random)?.code ?? ""
      double.number = 9
    default: LooseNote(context: context).text = "entry \(random.below(9))"
    }
  }

  private func insertSales(_ context: ManagedObjectContext) throws {
    let markets = ["north", "south"].map { name in
      let market = Market(context: context)
      market.name = name
      return market
    }
    for number in 0..<12 {
      let sale = number % 3 == 0 ? GiftSale(context: context) : Sale(context: context)
      sale.code = "o\(number)"
      sale.market = number % 5 == 0 ? nil : markets[number % 2]
      if number % 4 == 0 {
        sale.invoice = SaleInvoice(context: context)
        sale.invoice?.total = number
      }
    }
    try context.save()
  }

  /// Saves random changes to sales in two contexts, which change the same rows now and then.
  ///
  /// - Returns: The results that are visible to a program.
  private func run(
    seed: UInt64, policy: MergePolicy.Each, areOn: Bool
  ) throws -> (entries: [String: [[UInt8]]], seen: [String], count: Int) {
    var random = SeededGenerator(seed: seed)
    let fixture = try GraphFixture(Self.schema)
    try insertSales(fixture.context())
    let contexts = [fixture.context(), fixture.context()]
    var seen: [String] = []
    for context in contexts {
      context.mergePolicy = policy.policy
      context.fastPaths.areOn = areOn
      context.tracksUndo = seed % 2 == 0
    }
    for _ in 0..<25 {
      let request = FetchRequest<Sale>(sort: [SortDescriptor(\.code)])
      let sales = try contexts.map { try $0.fetch(request) }
      // Edit the same rows in both contexts before either is saved.
      for (context, sales) in zip(contexts, sales) {
        for _ in 0..<random.below(5) {
          if let sale = sales.randomElement(using: &random) { changeAttribute(sale, &random) }
        }
        if random.isTrue(in256: 60), let sale = sales.randomElement(using: &random) {
          try changeOther(sale, sales, context, &random)
        }
        if random.isTrue(in256: 20) { context.undo() }
      }
      for (context, sales) in zip(contexts, sales) {
        do {
          try context.save()
        } catch let error as ObjectGraphError {
          seen.append("\(error.kind) \(error.failures.count)")
          context.rollback()
        }
        seen.append("\(context.hasChanges) \(context.updatedObjects.count)")
        seen += sales.filter { !$0.isDeleted }.map(describe)
      }
      if random.isTrue(in256: 90) { for each in contexts { each.refreshAllObjects() } }
    }
    seen += try fixture.recordedChanges()
    return (try fixture.storedEntries(), seen, contexts.reduce(0) { $0 + $1.fastPaths.updateCount })
  }

  private func describe(_ sale: Sale) -> String {
    "\(sale.objectID.name) \(sale.code) \(sale.number) \(sale.weight as Any) \(sale.note) "
      + "\(sale.sent as Any) \(sale.payload.count) \(sale.market?.name ?? "none") "
      + "\(sale.market?.rank ?? 0) \(sale.invoice?.total ?? -1) \(sale.hasChanges) "
      + "\(sale.market?.sales.map(\.number).sorted() ?? []) \(sale.tags.count)"
  }

  @Test(
    .evidence("C-01"), .evidence("H-02"), arguments: TestScale.seeds(quick: 1, all: 15, long: 60),
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
    try insertSales(context)
    let sales = try context.fetch(FetchRequest<Sale>(sort: [SortDescriptor(\.code)]))
    let changes: [(Sale) -> Void] = [
      { $0.code = "new" },
      { $0.market = nil },
      { sale in
        sale.number += 1
        sale.tags.insert(SaleTag(context: context))
      },
      { sale in
        sale.number += 1
        Market(context: context).name = "west"
      },
      { sale in
        sale.number += 1
        context.delete(sales[7])
      },
      { $0.payload = Data(repeating: 1, count: 1 << 20) },
    ]
    for change in changes {
      change(sales[1])
      try context.save()
    }
    #expect(context.fastPaths.updateCount == 0)
    sales[2].number += 3
    LooseNote(context: context).text = "isolated"
    try context.save()
    #expect(context.fastPaths.updateCount == 1 && context.fastPaths.insertionCount == 1)
    let changed = FetchRequest<Sale>(where: #Predicate { $0.number > 0 })
    #expect(try fixture.context().count(for: changed) == 2)
  }
}
