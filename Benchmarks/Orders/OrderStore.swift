/// An engine for the workloads on orders.
protocol OrderEngine: Sendable {
  var name: String { get }
  /// Creates an empty store in a directory that does not exist yet.
  func makeOrderStore(in directory: String) throws -> any OrderStore
}

/// A store for orders and their customers.
///
/// Customers have a unique code. Orders have a unique number, an index on their order time, and a
/// reference to their customer. Each reading method returns a hash of the attributes that it has
/// read. The hash must be the same for all engines.
protocol OrderStore: AnyObject {
  /// Durably adds all customers and orders in one transaction.
  func insert(_ orders: [Order]) throws
  /// Checkpoints the inserted rows.
  func checkpoint() throws
  /// Reads all attributes of all orders, in the order of their numbers.
  func readAll() throws -> UInt64
  /// For each range of times, reads the 200 orders with the highest freight.
  func readHighest(in ranges: [Range<Double>]) throws -> UInt64
  /// For each customer, adds up the freight of the customer's orders, which are reached through the
  /// relationship.
  func sumByCustomer() throws -> UInt64
  /// In one durable transaction, sets the freight of all orders with a number below `end`.
  func change(below end: Int64, freight: Double) throws
  /// Checks that the store is intact, and closes it.
  func finish() throws
}

/// The number of orders that are read by ``OrderStore/readHighest(in:)`` for each range.
let highestOrderCount = 200
