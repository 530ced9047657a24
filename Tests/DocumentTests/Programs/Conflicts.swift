import Foundation
import Heartwood

final class Product: ManagedObject {
  @Attribute var code: String = ""
  @Attribute var stock: Int = 0
  @ToOne var shelf: Shelf?

  override class var entity: Entity {
    Entity("Product") { Unique(\Product.code) }
  }
}

final class Shelf: ManagedObject {
  @Attribute var name: String = ""
  @ToMany(inverse: \Product.shelf) var products: Set<Product>
}

final class Order: ManagedObject {
  @Attribute var number: Int = 0
  @Attribute var status: String = "open"
  @Attribute var note: String = ""
  @OrderedToMany(inverse: \Line.order, deleteRule: .cascade) var lines: [Line]

  override class var entity: Entity {
    Entity("Order") { Unique(\Order.number) }
  }
}

final class Line: ManagedObject {
  @Attribute var text: String = ""
  @ToOne var order: Order?
}

/// Makes a change and saves it; retries from the stored state after a conflict.
func saveChange(
  in context: ManagedObjectContext, _ change: (ManagedObjectContext) throws -> Void
) throws {
  for _ in 1..<10 {
    do {
      try change(context)
      return try context.save()
    } catch let error as ObjectGraphError where error.kind == .mergeConflict {
      context.rollback()
    }
  }
  try change(context)
  try context.save()
}

func countTwice(_ container: PersistentContainer) throws {
  let adding = MergePolicy.custom { conflict in
    guard conflict.entityName == "Product" else { return }
    guard let theirs = conflict.theirs else {
      // The product was deleted elsewhere, so leave it deleted.
      conflict.isDeleted = true
      return
    }
    if conflict.isDeletedHere {
      // The product was deleted here but changed elsewhere, so keep it.
      conflict.isDeleted = false
      return
    }
    // Both sides changed the stock, so add up the differences.
    if case .integer(let base)? = conflict.base["stock"],
      case .integer(let mine)? = conflict.mine["stock"],
      case .integer(let their)? = theirs["stock"]
    {
      conflict.result["stock"] = .integer(their + mine - base)
    }
    // If the product was moved elsewhere, keep that shelf.
    let shelf = conflict.theirReferences?["shelf"]
    if shelf != conflict.baseReferences["shelf"] {
      conflict.resultReferences.updateValue(shelf, forKey: "shelf")
    }
  }

  let mine = container.newContext()
  let theirs = container.newContext()
  mine.mergePolicy = adding
  let here = try mine.existingObject(where: \Product.code, equals: "tea")
  let there = try theirs.existingObject(where: \Product.code, equals: "tea")
  there?.stock -= 5
  try theirs.save()
  here?.stock += 10
  try mine.save()
  print("\(here?.stock ?? 0) in stock")
}

struct OrderRow {
  var number: Int
  var status: String
  var lines: [String]
}

func importOrders(_ feed: [OrderRow], into container: PersistentContainer) throws {
  let context = container.newContext()
  context.mergePolicy = .mergeByPropertyObjectTrump
  for row in feed {
    let order = Order(context: context)
    order.number = row.number
    order.status = row.status
    for text in row.lines {
      let line = Line(context: context)
      line.text = text
      order.lines.append(line)
    }
  }
  try context.save()
}

@main struct Program {
  static func main() throws {
    let container = try PersistentContainer.inMemory(
      schema: Schema(Product.self, Shelf.self, Order.self, Line.self))
    try fill(container)
    try countTwice(container)
    try countAgain(container)

    try importOrders(
      [
        OrderRow(number: 7, status: "paid", lines: ["cups"]),
        OrderRow(number: 8, status: "open", lines: ["tea"]),
        OrderRow(number: 7, status: "sent", lines: []),
      ], into: container)
    try list(container)
  }

  static func fill(_ container: PersistentContainer) throws {
    let context = container.newContext()
    let tea = Product(context: context)
    tea.code = "tea"
    tea.stock = 20
    tea.shelf = Shelf(context: context)
    tea.shelf?.name = "A"
    let order = Order(context: context)
    order.number = 7
    order.note = "a gift"
    let line = Line(context: context)
    line.text = "tea"
    order.lines = [line]
    try context.save()
  }

  static func countAgain(_ container: PersistentContainer) throws {
    var attempts = 0
    let context = container.newContext()
    try saveChange(in: context) { context in
      let tea = try context.existingObject(where: \Product.code, equals: "tea")
      attempts += 1
      if attempts == 1 {
        let other = container.newContext()
        try other.existingObject(where: \Product.code, equals: "tea")?.stock -= 5
        try other.save()
      }
      tea?.stock += 10
    }
    let tea = try context.existingObject(where: \Product.code, equals: "tea")
    print("\(tea?.stock ?? 0) in stock, saved by attempt \(attempts)")
  }

  static func list(_ container: PersistentContainer) throws {
    let context = container.newContext()
    for order in try context.fetch(FetchRequest<Order>(sort: [SortDescriptor(\.number)])) {
      let lines = order.lines.map(\.text).joined(separator: ", ")
      print("order \(order.number) (\(order.status), \(order.note)): \(lines)")
    }
  }
}
