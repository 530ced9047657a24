/// An engine for the workloads on orders.
protocol OrderEngine: Sendable {
  var name: String { get }
  /// Creates an empty store in a directory that does not exist yet.
  func makeOrderStore(in directory: String) throws -> any OrderStore
}

/// A store for orders and their customers.
///
/// Customers have a unique code. Orders have a unique number, an index on the time at which they
/// were made, and a reference to their customer. Every method that reads returns a hash of the
/// attributes that it has read. The hash must be the same for all engines.
protocol OrderStore: AnyObject {
  /// Adds all customers and orders durably, in one transaction.
  func insert(_ orders: [Order]) throws
  /// Checkpoints the inserted rows.
  func checkpoint() throws
  /// Reads all attributes of all orders, in the order of their numbers.
  func readAll() throws -> UInt64
  /// Reads, for each range of times, the 200 orders with the highest freight.
  func readHighest(in ranges: [Range<Double>]) throws -> UInt64
  /// Adds up the freight of each customer's orders, found through the customer.
  func sumByCustomer() throws -> UInt64
  /// Sets the freight of all orders with a number below `end`, in one durable transaction.
  func change(below end: Int64, freight: Double) throws
  /// Checks that the store is intact, and closes it.
  func finish() throws
}

/// The number of orders that ``OrderStore/readHighest(in:)`` reads for each range.
let highestOrderCount = 200
