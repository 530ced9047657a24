/// A comparison of terms with a given word that counts the differences between their letters.
///
/// If terms are compared in ascending order, a prefix shared by consecutive terms is processed only
/// once.
struct TextSimilarity {
  enum Result: Equatable {
    case similar
    case different
    /// No similar term begins with the first `byteCount` bytes of the compared term.
    case differentBeginning(byteCount: Int)
  }

  private let word: [Unicode.Scalar]
  private let distance: Int
  /// The letters that were compared most recently.
  private var path: [Unicode.Scalar] = []
  /// The number of differences between each prefix of `path` and each prefix of the word.
  ///
  /// There is one row for each prefix of `path`.
  ///
  /// Only cells near the diagonal are computed, because all other cells exceed the maximum
  /// distance.
  private var cells: [UInt8]
  private let rowCount: Int
  private var stride: Int { word.count + 1 }

  init(_ term: [UInt8], distance: Int) {
    word = Array(String(decoding: term, as: UTF8.self).unicodeScalars)
    self.distance = distance
    rowCount = word.count + distance + 2
    cells = Array(repeating: .max, count: rowCount * (word.count + 1))
    for column in 0...min(word.count, distance) { cells[column] = UInt8(column) }
  }

  /// Compares a term with the word.
  mutating func compare(_ term: some Collection<UInt8>) -> Result {
    var (count, byteCount) = (0, 0)
    var decoder = UTF8()
    var bytes = term.makeIterator()
    while case .scalarValue(let letter) = decoder.decode(&bytes) {
      byteCount += UTF8.width(letter)
      if count == path.count || path[count] != letter {
        path.removeSubrange(count...)
        path.append(letter)
        addRow(count + 1)
      }
      count += 1
      guard hasSimilarBeginning(count) else { return .differentBeginning(byteCount: byteCount) }
    }
    return cells[count * stride + word.count] <= distance ? .similar : .different
  }

  /// Computes the row of `cells` for a prefix of `path`.
  private mutating func addRow(_ row: Int) {
    let (start, last) = (row * stride, (row - 1) * stride)
    cells[start] = UInt8(row)
    for column in columns(row) where column > 0 {
      let isEqual = path[row - 1] == word[column - 1]
      var cost = min(Int(cells[last + column]), Int(cells[start + column - 1])) + 1
      cost = min(cost, Int(cells[last + column - 1]) + (isEqual ? 0 : 1))
      if row > 1, column > 1, path[row - 1] == word[column - 2], path[row - 2] == word[column - 1] {
        cost = min(cost, Int(cells[last - stride + column - 2]) + 1)
      }
      cells[start + column] = UInt8(clamping: cost)
    }
  }

  /// Returns the columns in which a row's cells can be within the maximum distance.
  private func columns(_ row: Int) -> ClosedRange<Int> {
    let upper = min(word.count, row + distance)
    return min(upper, max(0, row - distance))...upper
  }

  private func hasSimilarBeginning(_ count: Int) -> Bool {
    columns(count).contains { cells[count * stride + $0] <= distance }
  }
}
