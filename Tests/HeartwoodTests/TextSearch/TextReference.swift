import Foundation
import Heartwood
import HeartwoodTestSupport

/// A simple implementation of text search.
///
/// The texts consist of lower-case ASCII words that are separated by spaces.
struct TextReference {
  indirect enum Query {
    case word(String)
    case prefix(String)
    case phrase([String])
    case near([String], Int)
    case similar(String, Int)
    case all([Query])
    case any([Query])
    case not(Query)
    case field(Int, Query)

    var query: TextQuery {
      switch self {
      case .word(let word): .word(word)
      case .prefix(let word): .prefix(word)
      case .phrase(let words): .phrase(words.joined(separator: " "))
      case .near(let words, let distance): .near(words[0], words[1], distance: distance)
      case .similar(let word, let distance): .similar(word, distance: distance)
      case .all(let queries): .all(queries.map(\.query))
      case .any(let queries): .any(queries.map(\.query))
      case .not(let query): !query.query
      case .field(0, let query): query.query.in(\Essay.title)
      case .field(_, let query): query.query.in(\Essay.body)
      }
    }
  }

  /// The words of each attribute.
  let fields: [[String]]

  init(_ essay: Essay) {
    fields = [essay.title, essay.body ?? ""].map { $0.split(separator: " ").map(String.init) }
  }

  func matches(_ query: Query, _ used: [Int] = [0, 1]) -> Bool {
    switch query {
    case .word(let word): used.contains { fields[$0].contains(word) }
    case .prefix(let prefix): used.contains { fields[$0].contains { $0.hasPrefix(prefix) } }
    case .phrase(let words):
      used.contains { field in
        fields[field].indices.contains { fields[field][$0...].starts(with: words) }
      }
    case .near(let words, let distance):
      used.contains { field in
        let places = words.map { word in fields[field].indices.filter { fields[field][$0] == word }
        }
        return places[0].contains { first in places[1].contains { abs($0 - first) <= distance } }
      }
    case .similar(let word, let distance):
      used.contains { fields[$0].contains { Self.distance(word, $0) <= distance } }
    case .all(let queries): queries.allSatisfy { matches($0, used) }
    case .any(let queries): queries.contains { matches($0, used) }
    case .not(let query): !matches(query, used)
    case .field(let field, let query): matches(query, used.filter { $0 == field })
    }
  }

  /// Returns the number of letters to insert, delete, replace or exchange with their neighbours.
  static func distance(_ first: String, _ second: String) -> Int {
    let (first, second) = (Array(first), Array(second))
    var table = [[Int]](
      repeating: Array(repeating: 0, count: second.count + 1), count: first.count + 1)
    for row in 0...first.count { table[row][0] = row }
    for column in 0...second.count { table[0][column] = column }
    for row in first.indices {
      for column in second.indices {
        var cost = min(table[row][column + 1], table[row + 1][column]) + 1
        cost = min(cost, table[row][column] + (first[row] == second[column] ? 0 : 1))
        if row > 0, column > 0, first[row] == second[column - 1], first[row - 1] == second[column] {
          cost = min(cost, table[row - 1][column - 1] + 1)
        }
        table[row + 1][column + 1] = cost
      }
    }
    return table[first.count][second.count]
  }

  // MARK: Relevance

  /// Returns the relevance of the essays for some words, as the formula BM25 defines it.
  static func relevance(of essays: [TextReference], _ words: [String]) -> [Double] {
    let lengths = essays.map { Double($0.fields[0].count + $0.fields[1].count) }
    let average = max(1, lengths.reduce(0, +) / Double(max(1, essays.count)))
    let factors = words.map { word in
      let found = Double(essays.count { $0.matches(.word(word)) })
      return log(1 + (Double(essays.count) - found + 0.5) / (found + 0.5))
    }
    return zip(essays, lengths).map { essay, length in
      zip(words, factors).reduce(0) { sum, next in
        let (word, factor) = next
        let frequency = Double(
          2 * essay.fields[0].count { $0 == word } + essay.fields[1].count { $0 == word })
        return sum + factor * frequency * 2.2
          / (frequency + 1.2 * (0.25 + 0.75 * length / average))
      }
    }
  }
}

extension SeededGenerator {
  private static let vocabulary = [
    "the", "of", "sea", "seal", "seals", "sand", "stone", "stones", "star", "start", "wind", "wine",
    "north", "south", "harbor", "harbour", "lamp", "light", "night", "knight", "rain", "train",
    "river", "rivers", "bridge", "ridge", "cloud", "clouds", "storm", "form", "map", "maps",
  ]

  /// Returns a random word; the first words of the vocabulary are the most frequent.
  mutating func word() -> String {
    let count = Self.vocabulary.count
    let limit = Int.random(in: 1...count, using: &self)
    return Self.vocabulary[Int.random(in: 0..<limit, using: &self)]
  }

  mutating func words(_ range: ClosedRange<Int>) -> String {
    (0..<Int.random(in: range, using: &self)).map { _ in word() }.joined(separator: " ")
  }

  private mutating func queries(depth: Int) -> [TextReference.Query] {
    (0..<Int.random(in: 2...3, using: &self)).map { _ in query(depth: depth) }
  }

  mutating func query(depth: Int) -> TextReference.Query {
    let kind = Int.random(in: 0..<(depth > 0 ? 10 : 6), using: &self)
    switch kind {
    case 0, 1: return .word(word())
    case 2: return .prefix(String(word().prefix(Int.random(in: 1...4, using: &self))))
    case 3: return .phrase((0..<Int.random(in: 2...3, using: &self)).map { _ in word() })
    case 4: return .near([word(), word()], Int.random(in: 0...5, using: &self))
    case 5: return .similar(word(), Int.random(in: 0...2, using: &self))
    case 6: return .all(queries(depth: depth - 1))
    case 7: return .any(queries(depth: depth - 1))
    case 8: return .not(query(depth: depth - 1))
    default: return .field(Int.random(in: 0...1, using: &self), query(depth: depth - 1))
    }
  }
}
