import Foundation
import Heartwood

/// The shippers of Northwind.
private enum Shipper: Int16, AttributeValue {
  case express = 1
  case united = 2
  case federal = 3
}

private final class OrderCustomer: ManagedObject {
  @Attribute(.unique) var code: String = ""
  @ToMany(inverse: \CustomerOrder.customer) var orders: Set<CustomerOrder>
}

private final class CustomerOrder: ManagedObject {
  @Attribute(.unique) var number: Int64 = 0
  @Attribute var customerCode: String = ""
  @Attribute var employee: Int64? = nil
  @Attribute(.indexed) var ordered: Date = .distantPast
  @Attribute var required: Date? = nil
  @Attribute var shipped: Date? = nil
  @Attribute var shipper: Shipper = .express
  @Attribute var freight: Double = 0
  @Attribute var shipName: String = ""
  @Attribute var address: String = ""
  @Attribute var city: String = ""
  @Attribute var region: String? = nil
  @Attribute var postalCode: String? = nil
  @Attribute var country: String = ""
  @ToOne var customer: OrderCustomer?
}

extension HeartwoodGraph: OrderEngine {
  func makeOrderStore(in directory: String) throws -> any OrderStore {
    try HeartwoodOrderStore(directory: directory, options: options)
  }
}

private final class HeartwoodOrderStore: OrderStore {
  private let container: PersistentContainer

  init(directory: String, options: StoreOptions) throws {
    var all = ContainerOptions()
    all.store = options
    container = try PersistentContainer(
      url: URL(filePath: directory), schema: Schema(OrderCustomer.self), options: all)
  }

  func insert(_ orders: [Order]) throws {
    let context = container.newContext()
    try context.performAndWait {
      let customers = (0..<Order.customerCount).map { index in
        let customer = OrderCustomer(context: context)
        customer.code = Order.code(index)
        return customer
      }
      for order in orders {
        let object = CustomerOrder(context: context)
        object.take(order)
        object.customer = customers[order.customer]
      }
      try context.save()
    }
  }

  func checkpoint() throws { try container.store.checkpoint() }

  func readAll() throws -> UInt64 {
    try read(FetchRequest(sort: [SortDescriptor(\.number)]))
  }

  func readHighest(in ranges: [Range<Double>]) throws -> UInt64 {
    var hash: UInt64 = 0
    for range in ranges {
      let start = Date(timeIntervalSinceReferenceDate: range.lowerBound)
      let end = Date(timeIntervalSinceReferenceDate: range.upperBound)
      let request = FetchRequest<CustomerOrder>(
        where: #Predicate { $0.ordered >= start && $0.ordered < end },
        sort: [SortDescriptor(\.freight, order: .reverse), SortDescriptor(\.number)],
        limit: highestOrderCount)
      hash = fold(hash, try read(request))
    }
    return hash
  }

  private func read(_ request: FetchRequest<CustomerOrder>) throws -> UInt64 {
    let context = container.newContext()
    return try context.performAndWait {
      var hash: UInt64 = 0
      for order in try context.fetch(request) { hash = order.folded(into: hash) }
      return hash
    }
  }

  func sumByCustomer() throws -> UInt64 {
    let context = container.newContext()
    return try context.performAndWait {
      var hash: UInt64 = 0
      for customer in try context.fetch(FetchRequest<OrderCustomer>(sort: [SortDescriptor(\.code)]))
      {
        // Add up integer cents, because a floating-point sum would depend on the order of the
        // additions.
        let sum = customer.orders.reduce(0) { $0 + Int64(($1.freight * 100).rounded()) }
        hash = fold(hash, UInt64(bitPattern: sum))
      }
      return hash
    }
  }

  func change(below end: Int64, freight: Double) throws {
    let context = container.newContext()
    try context.performAndWait {
      let request = FetchRequest<CustomerOrder>(where: #Predicate { $0.number < end })
      for order in try context.fetch(request) { order.freight = freight }
      try context.save()
    }
  }

  func finish() throws {
    let findings = try container.store.verify().findings
    guard findings.isEmpty else { throw BenchFailure("The store is damaged: \(findings)") }
    try container.store.close()
  }
}

extension CustomerOrder {
  fileprivate func take(_ order: Order) {
    func date(_ seconds: Double) -> Date { Date(timeIntervalSinceReferenceDate: seconds) }
    number = order.number
    customerCode = order.customerCode
    employee = order.employee
    ordered = date(order.ordered)
    required = order.required.map(date)
    shipped = order.shipped.map(date)
    shipper = Shipper(rawValue: Int16(order.shipper)) ?? .express
    freight = order.freight
    shipName = order.shipName
    address = order.address
    city = order.city
    region = order.region
    postalCode = order.postalCode
    country = order.country
  }

  @inline(__always)
  fileprivate func folded(into hash: UInt64) -> UInt64 {
    func sum(_ text: String) -> UInt64 { text.utf8.reduce(0) { $0 &+ UInt64($1) } }
    let texts =
      sum(customerCode) &+ sum(shipName) &+ sum(address) &+ sum(city) &+ sum(country)
      &+ (region.map(sum) ?? 1) &+ (postalCode.map(sum) ?? 1)
    return hash.folding(
      integers: (number, employee, Int64(shipper.rawValue)),
      times: (
        ordered.timeIntervalSinceReferenceDate, required?.timeIntervalSinceReferenceDate,
        shipped?.timeIntervalSinceReferenceDate
      ), freight: freight, textSum: texts)
  }
}
