import Foundation

/// Generates random earthquakes from a fixed seed, so that every run uses the same quakes.
///
/// Magnitudes follow the Gutenberg–Richter law: quakes become ten times rarer with each unit of
/// magnitude. Magnitudes begin at 0.5 in the regional networks and at 4 in the worldwide network,
/// which does not detect weaker quakes. Times are ascending, and places resemble those in a real
/// feed.
struct QuakeGenerator {
  private struct Town {
    let network: String
    let name: String
    let longitude: Double
    let latitude: Double
  }

  private static let towns = [
    Town(network: "nc", name: "The Geysers, CA", longitude: -122.76, latitude: 38.80),
    Town(network: "nc", name: "Boulder Creek, CA", longitude: -122.12, latitude: 37.13),
    Town(network: "ci", name: "Little Lake, CA", longitude: -117.91, latitude: 35.94),
    Town(network: "ci", name: "Ridgecrest, CA", longitude: -117.67, latitude: 35.62),
    Town(network: "ci", name: "Aguanga, CA", longitude: -116.87, latitude: 33.44),
    Town(network: "nn", name: "Mina, Nevada", longitude: -118.11, latitude: 38.39),
    Town(network: "uw", name: "Mount St. Helens, Washington", longitude: -122.19, latitude: 46.20),
    Town(network: "uu", name: "Milford, Utah", longitude: -113.01, latitude: 38.40),
    Town(network: "mb", name: "Lincoln, Montana", longitude: -112.68, latitude: 46.95),
    Town(network: "ak", name: "North Nenana, Alaska", longitude: -149.09, latitude: 64.57),
    Town(network: "ak", name: "Cold Bay, Alaska", longitude: -162.72, latitude: 55.20),
    Town(network: "hv", name: "Volcano, Hawaii", longitude: -155.24, latitude: 19.44),
    Town(network: "pr", name: "Boqueron, Puerto Rico", longitude: -67.17, latitude: 18.03),
    Town(network: "us", name: "Ayna, Peru", longitude: -73.88, latitude: -12.75),
    Town(network: "us", name: "Neiafu, Tonga", longitude: -173.98, latitude: -18.65),
    Town(network: "us", name: "Hihifo, Tonga", longitude: -173.77, latitude: -15.95),
  ]
  private static let directions = ["N", "NNE", "NE", "E", "ESE", "SE", "S", "SSW", "W", "NW"]

  private var random = RandomNumbers(seed: 20_190_917)
  private var time: Int64 = 1_568_744_327_390

  /// Returns the next quake, which occurs slightly later than the previous quake.
  mutating func next() -> Quake {
    let dice = random.next()
    let town = Self.towns[Int(dice % UInt64(Self.towns.count))]
    let direction = Self.directions[Int((dice >> 16) % UInt64(Self.directions.count))]
    let distance = Int((dice >> 32) % 120) + 1
    time += Int64((dice >> 40) % 380_000) + 1
    let weakest = town.network == "us" ? 4 : 0.5
    let code = 10_000_000 + random.next() % 90_000_000
    return Quake(
      code: town.network + String(code),
      magnitude: Float(min(9.5, weakest - log10(1 - random.fraction()))),
      place: "\(distance)km \(direction) of \(town.name)",
      time: time,
      longitude: Float(town.longitude + random.fraction() - 0.5),
      latitude: Float(town.latitude + random.fraction() - 0.5),
      depth: Float(random.fraction() * 40))
  }
}
