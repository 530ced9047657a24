import Foundation
import Heartwood

/// A circle on the surface of the earth.
struct Vicinity {
  private let latitude: Double
  private let longitude: Double
  /// The radius in kilometres.
  private let radius: Double

  private static let defaultRadius = 100.0
  private static let earthRadius = 6371.0

  /// Creates a circle from text of the form `LAT,LON` or `LAT,LON,KM`.
  ///
  /// The result is `nil` if the text has neither form.
  init?(_ text: String) {
    let components = text.split(separator: ",", omittingEmptySubsequences: false)
    let numbers = components.compactMap { Double($0.trimmingPrefix(" ")) }
    guard numbers.count == components.count, (2...3).contains(numbers.count),
      (-90...90).contains(numbers[0]), (-180...180).contains(numbers[1])
    else { return nil }
    latitude = numbers[0]
    longitude = numbers[1]
    radius = numbers.count == 3 ? numbers[2] : Self.defaultRadius
    guard radius > 0, radius.isFinite else { return nil }
  }

  /// Returns the distance in kilometres from the centre of the circle to a quake.
  ///
  /// The result is `nil` if the quake is outside the circle or has no coordinates.
  func distance(to quake: Quake) -> Double? {
    guard let otherLatitude = quake.latitude, let otherLongitude = quake.longitude else {
      return nil
    }
    // Use the haversine formula, because it is accurate for small distances too.
    let first = sin((otherLatitude - latitude).inRadians / 2)
    let second = sin((otherLongitude - longitude).inRadians / 2)
    let share =
      first * first + cos(latitude.inRadians) * cos(otherLatitude.inRadians) * second * second
    let distance = 2 * Self.earthRadius * asin(min(1, share.squareRoot()))
    return distance <= radius ? distance : nil
  }

  /// A predicate that selects the quakes in the circle's bounding box.
  ///
  /// The store cannot calculate distances. To exclude the quakes outside the circle, call
  /// ``distance(to:)`` for each quake that the store finds.
  var predicate: QueryPredicate<Quake> {
    get throws {
      let angle = radius / Self.earthRadius
      let height = angle.inDegrees
      let (south, north) = (latitude - height, latitude + height)
      let rows = try QueryPredicate<Quake>(
        format: "latitude >= %@ AND latitude <= %@", south, north)
      // Do not limit the longitude if the circle contains a pole, because the circle then includes
      // all longitudes.
      guard south > -90, north < 90 else { return rows }
      let width = asin(min(1, sin(angle) / cos(latitude.inRadians))).inDegrees
      return try rows && columns(longitude - width, longitude + width)
    }
  }

  /// Returns a predicate that selects the quakes whose longitude is between `west` and `east`, in
  /// degrees.
  ///
  /// If the range crosses the 180th meridian, `west` may be less than -180, or `east` may be
  /// greater than 180.
  private func columns(_ west: Double, _ east: Double) throws -> QueryPredicate<Quake> {
    if west < -180 {
      return try QueryPredicate(format: "longitude >= %@ OR longitude <= %@", west + 360, east)
    }
    if east > 180 {
      return try QueryPredicate(format: "longitude >= %@ OR longitude <= %@", west, east - 360)
    }
    return try QueryPredicate(format: "longitude >= %@ AND longitude <= %@", west, east)
  }
}

extension Double {
  fileprivate var inRadians: Double { self * .pi / 180 }
  fileprivate var inDegrees: Double { self * 180 / .pi }
}
