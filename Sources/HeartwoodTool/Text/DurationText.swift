/// A parser for durations.
enum DurationText {
  private static let units: KeyValuePairs<String, Int> = [
    "s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800,
  ]

  /// Returns the number of seconds that a string such as `10s` or `2h` denotes.
  static func seconds(_ text: String, for flag: Flag) throws(ToolFailure) -> Int {
    let unit = units.first { text.hasSuffix($0.key) }
    guard let unit, let count = Int(text.dropLast()), count > 0, count <= 1_000_000 else {
      throw .usage("\(flag.rawValue) \(text) is invalid. Use a time such as 10s, 5m, 2h or 7d.")
    }
    return count * unit.value
  }
}
