import Foundation

/// Index-wide statistics that affect the relevance of every object.
///
/// The relevance also depends on the object's own words.
struct TextStatistics: Sendable {
  /// The number of objects in the index.
  var documentCount = 0
  /// The total number of words in all objects.
  var totalLength = 0
  /// For each leaf of the query, the number of objects in which any attribute contains the leaf.
  var leafCounts: [Int]
}

/// A ranking of objects by relevance, computed with the Okapi BM25 formula.
struct TextRanking {
  /// The weights of the attributes, in units of 1/1024.
  ///
  /// The weights are integers, because a sum of integers does not depend on the order of addition.
  /// An object therefore has the same relevance in memory and in the index.
  let weights: [Int]
  private let factors: [Double]
  private let averageLength: Double

  private static let saturation = 1.2
  private static let lengthShare = 0.75
  static let weightUnit = 1024.0
  /// The maximum object length, in words, that the ranking takes into account.
  ///
  /// A longer object is ranked as if it had this length.
  static let maxLength = Int(UInt16.max)

  init(_ statistics: TextStatistics, _ tree: TextSearchTree, weights: [Int]) {
    self.weights = weights
    let count = Double(statistics.documentCount)
    averageLength = max(1, Double(statistics.totalLength) / max(1, count))
    factors = zip(statistics.leafCounts, tree.areScored).map { found, isScored in
      guard isScored else { return 0 }
      let found = Double(found)
      return log(1 + max(0, count - found + 0.5) / (found + 0.5))
    }
  }

  /// Returns a leaf's contribution to the relevance of an object.
  ///
  /// - Parameters:
  ///   - frequency: The total weight of the leaf's occurrences.
  ///   - length: The number of words in the object.
  @inline(__always)
  func score(_ leaf: Int, frequency: Int, length: Int) -> Double {
    let frequency = Double(frequency) / Self.weightUnit
    let ratio = Double(min(length, Self.maxLength)) / averageLength
    let norm = Self.saturation * (1 - Self.lengthShare + Self.lengthShare * ratio)
    return factors[leaf] * (frequency * (Self.saturation + 1)) / (frequency + norm)
  }
}
