import Foundation
import Heartwood

/// An order with every kind of property.
final class Order: ManagedObject {
  @Attribute var title: String = ""
  @Attribute var keywords: [String] = []
  @Attribute var note: Data = Data()
  @Attribute var remark: String? = nil
  @OrderedToMany(inverse: \OrderLine.order, deleteRule: .cascade) var lines: [OrderLine]
  @ToMany(inverse: \Piece.order, deleteRule: .cascade) var pieces: Set<Piece>
  @ToMany(inverse: \Label.orders) var labels: Set<Label>
  @ToOne(inverse: \Invoice.order, deleteRule: .cascade) var invoice: Invoice?
}

final class OrderLine: ManagedObject {
  @Attribute var number: Int = 0
  @ToOne var order: Order?
}

final class Piece: ManagedObject {
  @Attribute var number: Int = 0
  @ToOne var order: Order?
}

final class Label: ManagedObject {
  @Attribute var name: String = ""
  @ToMany var orders: Set<Order>
}

final class Invoice: ManagedObject {
  @Attribute var amount: Int = 0
  @ToOne var order: Order?
}

let orders = Schema(Order.self)

/// An element of a linked list.
///
/// Deleting an element also deletes the next element.
final class Link: ManagedObject {
  @Attribute var number: Int = 0
  @ToOne(inverse: \Link.previous, deleteRule: .cascade) var next: Link?
  @ToOne var previous: Link?
}

/// A class whose relationships are their own inverses.
class Cat: ManagedObject {
  @Attribute var name: String = ""
  @ToOne var mate: Cat?
  @ToMany var friends: Set<Cat>

  override class var entity: Entity {
    Entity("Cat") {
      Inverse(\Cat.mate, \Cat.mate)
      Inverse(\Cat.friends, \Cat.friends)
    }
  }
}

final class Kitten: Cat {}

/// A class whose validation can fail.
final class Applicant: ManagedObject {
  struct NoName: Error, Equatable {
    let length: Int
  }

  @Attribute var name: String = ""
  @Attribute var age: Int = 0

  override func validate() throws {
    if name.isEmpty { throw NoName(length: name.count) }
    if age < 0 {
      throw ObjectGraphError(.validation, "The age is negative.", property: "age")
    }
  }
}
