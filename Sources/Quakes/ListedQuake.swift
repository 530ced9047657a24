import Foundation

/// A quake as JSON shows it, and as one that is there no more is remembered.
struct ListedQuake: Encodable, Sendable {
  let code: String
  let kind: String
  let magnitude: Double?
  let place: String
  let time: Date
  let updated: Date
  let latitude: Double?
  let longitude: Double?
  let depth: Double?
  /// Kilometres from the place that was asked for.
  let distance: Double?

  init(_ quake: Quake, _ distance: Double? = nil) {
    code = quake.code
    kind = quake.kind
    magnitude = quake.magnitude
    place = quake.place
    time = quake.time
    updated = quake.updated
    latitude = quake.latitude
    longitude = quake.longitude
    depth = quake.depth
    self.distance = distance
  }
}
