extension SQLiteGraph: OrderEngine {
  func makeOrderStore(in directory: String) throws -> any OrderStore {
    try SQLiteOrderStore(library, directory)
  }
}

private final class SQLiteOrderStore: OrderStore {
  private let database: SQLiteDatabase
  private let insertCustomer: SQLiteStatement
  private let insertOrder: SQLiteStatement
  private let allOrders: SQLiteStatement
  private let highestOrders: SQLiteStatement
  private let customers: SQLiteStatement
  private let ordersOfCustomer: SQLiteStatement
  private let numbers: SQLiteStatement
  private let changeFreight: SQLiteStatement

  private static let tables = [
    "CREATE TABLE customer (id INTEGER PRIMARY KEY, code TEXT NOT NULL UNIQUE)",
    """
    CREATE TABLE orders (
      id INTEGER PRIMARY KEY, number INTEGER NOT NULL UNIQUE, customerCode TEXT NOT NULL,
      employee INTEGER, ordered REAL NOT NULL, required REAL, shipped REAL,
      shipper INTEGER NOT NULL, freight REAL NOT NULL, shipName TEXT NOT NULL,
      address TEXT NOT NULL, city TEXT NOT NULL, region TEXT, postalCode TEXT,
      country TEXT NOT NULL, customer INTEGER REFERENCES customer (id))
    """,
    "CREATE INDEX orders_ordered ON orders (ordered)",
    "CREATE INDEX orders_customer ON orders (customer)",
  ]

  private static let columns = """
    number, customerCode, employee, ordered, required, shipped, shipper, freight, shipName, \
    address, city, region, postalCode, country
    """

  init(_ library: SQLiteLibrary, _ directory: String) throws {
    try StoreDirectory.make(directory)
    let database = try SQLiteDatabase(library, path: directory + "/database")
    self.database = database
    for text in SQLiteGraph.durableSettings + ["PRAGMA foreign_keys=ON"] + Self.tables {
      try database.run(text)
    }
    func prepare(_ text: String) throws -> SQLiteStatement { try SQLiteStatement(database, text) }
    insertCustomer = try prepare("INSERT INTO customer VALUES (?, ?)")
    insertOrder = try prepare(
      """
      INSERT INTO orders (\(Self.columns), customer)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      """)
    allOrders = try prepare("SELECT \(Self.columns) FROM orders ORDER BY number")
    highestOrders = try prepare(
      """
      SELECT \(Self.columns) FROM orders WHERE ordered >= ? AND ordered < ?
      ORDER BY freight DESC, number LIMIT \(highestOrderCount)
      """)
    customers = try prepare("SELECT id FROM customer ORDER BY code")
    ordersOfCustomer = try prepare("SELECT freight FROM orders WHERE customer = ?")
    numbers = try prepare("SELECT number FROM orders WHERE number < ?")
    changeFreight = try prepare("UPDATE orders SET freight = ?2 WHERE number = ?1")
  }

  func insert(_ orders: [Order]) throws {
    try database.run("BEGIN IMMEDIATE")
    for customer in 0..<Order.customerCount {
      insertCustomer.bind(Int64(customer + 1), at: 1)
      insertCustomer.bind(Order.code(customer), at: 2)
      _ = try insertCustomer.step()
      insertCustomer.reset()
    }
    for order in orders {
      let row = insertOrder
      row.bind(order.number, at: 1)
      row.bind(order.customerCode, at: 2)
      row.bind(order.employee, at: 3)
      row.bind(order.ordered, at: 4)
      row.bind(order.required, at: 5)
      row.bind(order.shipped, at: 6)
      row.bind(order.shipper, at: 7)
      row.bind(order.freight, at: 8)
      row.bind(order.shipName, at: 9)
      row.bind(order.address, at: 10)
      row.bind(order.city, at: 11)
      row.bind(order.region, at: 12)
      row.bind(order.postalCode, at: 13)
      row.bind(order.country, at: 14)
      row.bind(Int64(order.customer + 1), at: 15)
      _ = try row.step()
      row.reset()
    }
    try database.run("COMMIT")
  }

  func checkpoint() throws { try database.run("PRAGMA wal_checkpoint(TRUNCATE)") }

  func readAll() throws -> UInt64 { try read(allOrders) }

  func readHighest(in ranges: [Range<Double>]) throws -> UInt64 {
    var hash: UInt64 = 0
    for range in ranges {
      highestOrders.bind(range.lowerBound, at: 1)
      highestOrders.bind(range.upperBound, at: 2)
      hash = fold(hash, try read(highestOrders))
    }
    return hash
  }

  private func read(_ rows: SQLiteStatement) throws -> UInt64 {
    var hash: UInt64 = 0
    while try rows.step() { hash = rows.foldedOrder(into: hash) }
    rows.reset()
    return hash
  }

  func sumByCustomer() throws -> UInt64 {
    var hash: UInt64 = 0
    while try customers.step() {
      ordersOfCustomer.bind(customers.integer(0), at: 1)
      var sum: Int64 = 0
      while try ordersOfCustomer.step() {
        sum += Int64((ordersOfCustomer.double(0) * 100).rounded())
      }
      ordersOfCustomer.reset()
      hash = fold(hash, UInt64(bitPattern: sum))
    }
    customers.reset()
    return hash
  }

  func change(below end: Int64, freight: Double) throws {
    try database.run("BEGIN IMMEDIATE")
    var found: [Int64] = []
    numbers.bind(end, at: 1)
    while try numbers.step() { found.append(numbers.integer(0)) }
    numbers.reset()
    for number in found {
      changeFreight.bind(number, at: 1)
      changeFreight.bind(freight, at: 2)
      _ = try changeFreight.step()
      changeFreight.reset()
    }
    try database.run("COMMIT")
  }

  func finish() throws { try database.requireIntegrity() }
}

extension SQLiteStatement {
  /// Returns the hash that results from folding the order in the current row into `hash`.
  @inline(__always)
  fileprivate func foldedOrder(into hash: UInt64) -> UInt64 {
    func sum(_ column: Int32) -> UInt64 { isNull(column) ? 1 : textSum(column) }
    let texts =
      textSum(1) &+ textSum(8) &+ textSum(9) &+ textSum(10) &+ sum(11) &+ sum(12) &+ textSum(13)
    return hash.folding(
      integers: (integer(0), isNull(2) ? nil : integer(2), integer(6)),
      times: (double(3), isNull(4) ? nil : double(4), isNull(5) ? nil : double(5)),
      freight: double(7), textSum: texts)
  }
}
