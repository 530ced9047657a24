import Foundation

/// The JSON form of a quake.
///
/// It also serves as a copy of a quake that may be deleted later.
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
  /// The distance from the given location in kilometres, or `nil` if no location is given.
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
