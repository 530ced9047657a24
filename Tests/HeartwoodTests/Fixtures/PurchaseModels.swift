import Foundation
import Heartwood
import Testing

/// An order that has every kind of relationship.
final class Purchase: ManagedObject {
  @Attribute var number: Int = 0
  @Attribute var code: String? = nil
  @Attribute var note: String = ""
  @Attribute var weight: Double = 0
  @ToOne var customer: Buyer?
  @ToOne(inverse: \Bill.order) var invoice: Bill?
  @OrderedToMany(inverse: \Article.order, deleteRule: .cascade) var lines: [Article]
  @ToMany(inverse: \Parcel.order) var pieces: Set<Parcel>
  @ToMany(inverse: \Sticker.orders) var labels: Set<Sticker>
  @Attribute var lineCount: Int = 0

  override class var entity: Entity {
    Entity("Purchase") {
      Unique(\Purchase.number)
      Unique(\Purchase.code)
      Derived(\Purchase.lineCount, .count(\Purchase.lines))
    }
  }
}

final class Buyer: ManagedObject {
  @Attribute var name: String = ""
  @ToMany(inverse: \Purchase.customer) var orders: Set<Purchase>
}

final class Bill: ManagedObject {
  @Attribute var name: String = ""
  @ToOne var order: Purchase?
}

final class Article: ManagedObject {
  @Attribute var text: String = ""
  @ToOne var order: Purchase?
  @ToOne var hint: Hint?
}

final class Parcel: ManagedObject {
  @Attribute var name: String = ""
  @ToOne var order: Purchase?
}

final class Sticker: ManagedObject {
  @Attribute var name: String = ""
  @OrderedToMany var orders: [Purchase]

  override class var entity: Entity { Entity("Sticker") { Unique(\Sticker.name) } }
}

/// The target of a relationship without an inverse.
final class Hint: ManagedObject {
  @Attribute var text: String = ""
}

let purchases = Schema(
  Purchase.self, Buyer.self, Bill.self, Article.self, Parcel.self, Sticker.self, Hint.self)

extension GraphFixture {
  /// Runs `body` in a separate context, and saves the changes it makes.
  @discardableResult
  func saved<Result>(
    _ policy: MergePolicy = .error, _ body: (ManagedObjectContext) throws -> Result
  ) throws -> Result {
    let context = context()
    context.mergePolicy = policy
    let result = try body(context)
    try context.save()
    return result
  }

  /// Runs `body` in a new context, so that it reads the store.
  func stored<Result>(_ body: (ManagedObjectContext) throws -> Result) throws -> Result {
    try body(context())
  }

  /// Returns descriptions of the relationships whose two sides disagree in a context.
  private func disagreements(in context: ManagedObjectContext) throws -> [String] {
    var found: [String] = []
    func check(_ holds: Bool, _ words: String) { if !holds { found.append(words) } }
    // Fetch all objects first, because loaded objects may have values from an earlier read.
    let labels = try context.fetch(FetchRequest<Sticker>())
    let customers = try context.fetch(FetchRequest<Buyer>())
    let invoices = try context.fetch(FetchRequest<Bill>())
    let (lines, pieces) = (
      try context.fetch(FetchRequest<Article>()), try context.fetch(FetchRequest<Parcel>())
    )
    for order in try context.fetch(FetchRequest<Purchase>()) {
      check(order.lines.allSatisfy { $0.order === order }, "lines of \(order.number)")
      check(Set(order.lines).count == order.lines.count, "a line of \(order.number) twice")
      check(order.pieces.allSatisfy { $0.order === order }, "pieces of \(order.number)")
      check(order.labels.allSatisfy { $0.orders.contains(order) }, "labels of \(order.number)")
      check(order.invoice.map { $0.order === order } ?? true, "invoice of \(order.number)")
      check(order.customer?.orders.contains(order) ?? true, "customer of \(order.number)")
      check(order.lineCount == order.lines.count, "count of \(order.number)")
      check(!order.isDeleted, "\(order.number) is deleted")
    }
    for line in lines {
      check(line.order?.lines.contains(line) ?? true, "order of \(line.text)")
    }
    for piece in pieces {
      check(piece.order?.pieces.contains(piece) ?? true, "order of \(piece.name)")
    }
    for invoice in invoices {
      check(invoice.order.map { $0.invoice === invoice } ?? true, "order of \(invoice.name)")
    }
    for label in labels {
      check(label.orders.allSatisfy { $0.labels.contains(label) }, "orders of \(label.name)")
    }
    for customer in customers {
      check(customer.orders.allSatisfy { $0.customer === customer }, "orders of \(customer.name)")
    }
    return found
  }

  /// Expects the two sides of each relationship of orders to agree in a context.
  func expectAgreement(
    in context: ManagedObjectContext, _ location: SourceLocation = #_sourceLocation
  ) throws {
    let found = try disagreements(in: context)
    #expect(found == [], "\(context.name ?? "")", sourceLocation: location)
  }
}
