/// An order with the columns of Microsoft's Northwind sample database, which is often used to
/// measure object libraries.
struct Order: Sendable {
  let number: Int64
  /// The index of the customer.
  let customer: Int
  let employee: Int64?
  /// The times at which the order was made, required and shipped, in seconds since 2001.
  let ordered: Double
  let required: Double?
  let shipped: Double?
  let shipper: Int64
  let freight: Double
  let shipName: String
  let address: String
  let city: String
  let region: String?
  let postalCode: String?
  let country: String

  var customerCode: String { Self.code(customer) }

  /// The number of orders that Lighter's benchmark reads from Northwind.
  static let count = 15_889
  static let customerCount = 91
  static let shipperCount: Int64 = 3
  private static let cities = ["Århus", "Berlin", "London", "México D.F.", "Reims", "São Paulo"]
  private static let countries = ["Denmark", "Germany", "UK", "Mexico", "France", "Brazil"]
  private static let day = 86_400.0

  static func code(_ customer: Int) -> String { "CUST\(customer + 10)" }

  /// Creates order number `index`, with values that resemble Northwind's.
  init(_ index: Int) {
    var random = RandomNumbers(seed: UInt64(index) &+ 9)
    func below(_ limit: UInt64) -> Int { Int(random.next() % limit) }
    number = Int64(index) + 10_248
    customer = below(UInt64(Self.customerCount))
    employee = below(20) == 0 ? nil : Int64(below(9)) + 1
    ordered = Double(index) * Self.day / 8
    required = below(10) == 0 ? nil : ordered + 28 * Self.day
    shipped = below(8) == 0 ? nil : ordered + Double(below(30)) * Self.day
    shipper = Int64(below(UInt64(Self.shipperCount))) + 1
    freight = Double(below(100_000)) / 100
    let place = below(UInt64(Self.cities.count))
    shipName = "Vins et alcools \(customer)"
    address = "\(below(200)) rue de l'Abbaye, bâtiment \(below(30))"
    city = Self.cities[place]
    country = Self.countries[place]
    region = below(2) == 0 ? nil : "Region \(below(12))"
    postalCode = below(16) == 0 ? nil : "\(10_000 + below(89_999))"
  }
}

extension UInt64 {
  /// Returns the hash that results from folding the attributes of an order into this hash.
  @inline(__always)
  func folding(
    integers: (Int64, Int64?, Int64), times: (Double, Double?, Double?), freight: Double,
    textSum: UInt64
  ) -> UInt64 {
    let numbers = integers.0 &+ (integers.1 ?? -1) &* 3 &+ integers.2 &* 5
    let hash = fold(self, UInt64(bitPattern: numbers) &+ textSum)
    return fold(
      hash,
      times.0.bitPattern &+ (times.1 ?? -1).bitPattern &* 3 &+ (times.2 ?? -1).bitPattern &* 5
        &+ freight.bitPattern &* 7)
  }
}
