/// Functions that suggest corrections for mistyped names.
enum NearestName {
  /// Returns the candidate that differs from the mistyped name in the fewest letters, or `nil` if
  /// all candidates differ too much.
  ///
  /// If several candidates are equally similar, the method returns the first one.
  static func of(_ typed: String, in candidates: some Sequence<String>) -> String? {
    var best: (name: String, distance: Int)?
    for candidate in candidates {
      let distance =
        candidate.hasPrefix(typed) && typed.count > 1 ? 1 : distance(typed, candidate)
      if distance < best?.distance ?? .max { best = (candidate, distance) }
    }
    guard let best, best.distance <= max(2, typed.count / 3), best.distance < typed.count else {
      return nil
    }
    return best.name
  }

  /// Returns "Did you mean …?" with a leading space, or an empty string if no candidate is similar
  /// to the mistyped name.
  static func question(_ typed: String, in candidates: some Sequence<String>) -> String {
    of(typed, in: candidates).map { " Did you mean \($0)?" } ?? ""
  }

  /// Returns the number of letters that must be inserted, removed or replaced to turn one name into
  /// the other (the Levenshtein distance).
  private static func distance(_ typed: String, _ candidate: String) -> Int {
    let target = Array(candidate)
    var row = Array(0...target.count)
    for (index, letter) in typed.enumerated() {
      var diagonal = row[0]
      row[0] = index + 1
      for column in target.indices {
        let replaced = diagonal + (letter == target[column] ? 0 : 1)
        diagonal = row[column + 1]
        row[column + 1] = min(replaced, row[column] + 1, diagonal + 1)
      }
    }
    return row[target.count]
  }
}
