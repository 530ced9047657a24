/// An engine for the object workloads: Heartwood, or a peer with which it is compared.
protocol GraphEngine: Sendable {
  /// The name of the engine, as shown in tables and in JSON.
  var name: String { get }
  /// A one-line description of the engine's version and configuration.
  var description: String { get }

  /// Creates an empty store in a directory that does not exist yet.
  func makeStore(in directory: String) throws -> any GraphStore
}

/// A store for items and quakes.
///
/// Quakes have a unique code and an index on the time. Each reading method returns a hash of the
/// attributes that it has read. The hash must be the same for all engines.
protocol GraphStore: AnyObject {
  /// Durably adds items in one transaction. All attributes of an item equal its row number.
  func insertItems(_ count: Int) throws
  /// Durably adds quakes in one transaction, without holding all of them in memory.
  func insertQuakes(_ quakes: [Quake]) throws
  /// Checkpoints the inserted rows.
  func checkpoint() throws
  /// Reads all items in row order.
  func readItems() throws -> UInt64
  /// Fetches quakes by their codes, one by one.
  func findQuakes(_ codes: ArraySlice<String>) throws -> UInt64
  /// Looks up quakes by their codes, using the engine's fastest API.
  func lookUpQuakes(_ codes: ArraySlice<String>) throws -> UInt64
  /// Fetches the newest 100 quakes with at least this magnitude. The fetch is performed `times`
  /// times.
  func findNewest(magnitude: Float, times: Int) throws -> UInt64
  /// Counts the quakes in each range of times, which are in seconds since 2001.
  func countQuakes(in ranges: [Range<Double>]) throws -> UInt64
  /// For each string, counts the quakes whose place contains the string.
  func countQuakes(containing texts: [String]) throws -> UInt64
  /// Changes the depth of each quake in a separate durable transaction.
  func changeQuakes(_ codes: ArraySlice<String>, depth: Float) throws
  /// Deletes quakes in one durable transaction.
  func deleteQuakes(_ codes: ArraySlice<String>) throws
  /// Checks that the store is intact, and closes it.
  func finish() throws
}

extension GraphStore {
  func lookUpQuakes(_ codes: ArraySlice<String>) throws -> UInt64 { try findQuakes(codes) }
}

/// The number of quakes fetched by ``GraphStore/findNewest(magnitude:times:)``.
let newestQuakeCount = 100

/// Returns the hash that results from folding the attributes of a quake into `hash`.
@inline(__always)
func fold(
  _ hash: UInt64, time: Double, magnitude: Double, position: (Double, Double, Double),
  textSum: UInt64
) -> UInt64 {
  var hash = fold(hash, time.bitPattern &+ textSum)
  hash = fold(hash, magnitude.bitPattern)
  return fold(
    hash, position.0.bitPattern &+ position.1.bitPattern &* 3 &+ position.2.bitPattern &* 5)
}

extension Quake {
  /// The time, in seconds since 2001.
  var seconds: Double { Double(time) / 1000 - 978_307_200 }
}
