import Foundation
import HeartwoodEngine

/// The rules that decide which restore points remain when a backup is thinned.
struct BackupRetention {
  /// The age, in seconds, up to which every restore point is kept.
  private var wholeSeconds: UInt64 = 0
  /// The number of recent periods whose last restore point is kept, keyed by the length of a period
  /// in seconds.
  private var counts: [UInt64: Int] = [:]

  private static let periods: KeyValuePairs<String, UInt64> = [
    "hourly": 3600, "daily": 86_400, "weekly": 604_800,
  ]

  /// Creates the rules from a list such as `2h,24hourly,30daily`.
  init(_ text: String) throws(ToolFailure) {
    for part in text.filter({ $0 != " " }).split(separator: ",") {
      if let period = Self.periods.first(where: { part.hasSuffix($0.key) }) {
        guard let count = Int(part.dropLast(period.key.count)), count > 0 else {
          throw Self.invalid(part)
        }
        counts[period.value] = count
      } else {
        wholeSeconds = UInt64(try DurationText.seconds(String(part), for: .keep))
      }
    }
    guard wholeSeconds > 0 || !counts.isEmpty else { throw Self.invalid(text[...]) }
  }

  private static func invalid(_ text: Substring) -> ToolFailure {
    .usage("--keep \(text) is invalid. Use a list such as 2h,24hourly,30daily,52weekly.")
  }

  /// Thins a backup according to the rules, and returns the number of removed restore points.
  func apply(to backup: Backup) throws -> Int {
    let now = UInt64(Date.now.timeIntervalSince1970 * 1000)
    let points = try backup.restorePoints()
    // Select the points to remove rather than the points to keep, so that a point that was just
    // added by another process is not removed.
    let removed = Set(points.map(\.generation)).subtracting(kept(points, now: now))
    return try backup.thin { !removed.contains($0.generation) }
  }

  /// Returns the restore points to keep: recent points, the last point of each period, and named
  /// points.
  ///
  /// - Parameter now: The time, in milliseconds since 1970.
  private func kept(_ points: [Backup.RestorePoint], now: UInt64) -> Set<Generation> {
    var kept = Set(points.filter { !$0.names.isEmpty }.map(\.generation))
    for point in points where point.time + wholeSeconds * 1000 >= now {
      kept.insert(point.generation)
    }
    for (seconds, count) in counts {
      var periods: Set<UInt64> = []
      for point in points.reversed() where periods.insert(point.time / 1000 / seconds).inserted {
        guard periods.count <= count else { break }
        kept.insert(point.generation)
      }
    }
    return kept
  }
}
