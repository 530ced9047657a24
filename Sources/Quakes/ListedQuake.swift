import Foundation

/// A copy of a quake's values that is used for JSON and text output.
///
/// Unlike the ``Quake`` object, the copy remains readable after the quake has been deleted.
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
  /// The distance in kilometres from the location specified with `--near`, or `nil` if the option
  /// is not given.
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
