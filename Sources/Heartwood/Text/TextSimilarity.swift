/// Compares words with one word, and counts the letters in which they differ.
struct TextSimilarity {
  private let word: [Unicode.Scalar]
  private let distance: Int
  private var rows: (previous: [Int], last: [Int], current: [Int])

  init(_ term: [UInt8], distance: Int) {
    word = Array(String(decoding: term, as: UTF8.self).unicodeScalars)
    self.distance = distance
    let row = Array(repeating: 0, count: word.count + 1)
    rows = (row, row, row)
  }

  /// Returns whether a term differs by no more letters than allowed.
  mutating func isSimilar(_ term: some Collection<UInt8>) -> Bool {
    // A letter has at most four bytes.
    guard term.count + 4 * distance >= word.count, term.count <= 4 * (word.count + distance) else {
      return false
    }
    let other = Array(String(decoding: term, as: UTF8.self).unicodeScalars)
    guard abs(other.count - word.count) <= distance else { return false }
    for column in 0...word.count { rows.last[column] = column }
    for row in 0..<other.count {
      rows.current[0] = row + 1
      var least = row + 1
      for column in 0..<word.count {
        var cost = min(rows.last[column + 1], rows.current[column]) + 1
        cost = min(cost, rows.last[column] + (other[row] == word[column] ? 0 : 1))
        if row > 0, column > 0, other[row] == word[column - 1], other[row - 1] == word[column] {
          cost = min(cost, rows.previous[column - 1] + 1)
        }
        rows.current[column + 1] = cost
        least = min(least, cost)
      }
      guard least <= distance else { return false }
      (rows.previous, rows.last, rows.current) = (rows.last, rows.current, rows.previous)
    }
    return rows.last[word.count] <= distance
  }
}
