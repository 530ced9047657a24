/// Who does the workloads of objects: Heartwood, or a peer it is compared with.
protocol GraphEngine: Sendable {
  /// What it is called in tables and in JSON.
  var name: String { get }
  /// What it is, with its version and how it is set up, as a line for people.
  var description: String { get }

  /// Makes an empty store in a folder that does not exist.
  func makeStore(in folder: String) throws -> any GraphStore
}

/// A store for items and quakes, with an index of the times of quakes; no two have the same code.
///
/// Whoever reads looks at every attribute and folds them into a hash, so that all engines must
/// come to the same.
protocol GraphStore: AnyObject {
  /// Adds items whose attributes are all the number of their row, durably and in one transaction.
  func insertItems(_ count: Int) throws
  /// Adds quakes, durably and in one transaction, without holding them all.
  func insertQuakes(_ quakes: [Quake]) throws
  /// Moves what was inserted from the log to where it stays.
  func settle() throws
  /// Reads all items, in the order of their rows.
  func readItems() throws -> UInt64
  /// Finds quakes by their codes, one after the other.
  func findQuakes(_ codes: ArraySlice<String>) throws -> UInt64
  /// Finds quakes by their codes by the shortest way there is for it.
  func lookUpQuakes(_ codes: ArraySlice<String>) throws -> UInt64
  /// Finds the newest 100 quakes of a magnitude and above, a number of times.
  func findNewest(magnitude: Float, times: Int) throws -> UInt64
  /// Checks that the store is sound, and closes it.
  func finish() throws
}

extension GraphStore {
  func lookUpQuakes(_ codes: ArraySlice<String>) throws -> UInt64 { try findQuakes(codes) }
}

/// How many quakes ``GraphStore/findNewest(magnitude:times:)`` asks for.
let newestQuakeCount = 100

/// Folds the attributes of a quake into a hash.
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
  /// Seconds since 2001.
  var seconds: Double { Double(time) / 1000 - 978_307_200 }
}
