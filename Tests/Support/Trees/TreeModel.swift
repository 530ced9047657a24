import HeartwoodEngine

/// The expected contents of a tree, held in a dictionary, and generators for random keys and
/// values.
package struct TreeModel {
  package var rows: [[UInt8]: [UInt8]] = [:]

  package init() {}

  package var sortedKeys: [[UInt8]] { rows.keys.sorted { $0.precedes($1) } }

  /// The kinds of keys, each of which exercises a different part of the node format.
  package enum KeyShape: String, CaseIterable, Sendable, CustomStringConvertible {
    case integers, shortStrings, longSharedPrefixes, mixedPrefixes, zeroBytes, anyLength

    package var description: String { rawValue }

    package func key(_ random: inout SeededGenerator) -> [UInt8] {
      let number = random.next()
      switch self {
      case .integers:
        return [0x20] + TreeModel.bigEndian(number % 5000)
      case .shortStrings:
        return Array("\(number % 3000)".utf8)
      case .longSharedPrefixes:
        let length = 300 + Int(number % 3) * 300
        return [UInt8](repeating: 0x61, count: length) + Array("\(number % 977)".utf8)
      case .mixedPrefixes:
        let prefix = [UInt8](repeating: UInt8(number % 5) + 0x40, count: Int(number % 7) * 100)
        return prefix + TreeModel.bigEndian(number % 1999).suffix(Int(number % 9))
      case .zeroBytes:
        return [UInt8](repeating: 0, count: Int(number % 400))
          + (number & 0x1000 == 0 ? [] : [UInt8(number >> 20 & 1)])
      case .anyLength:
        var key: [UInt8] = []
        for _ in 0..<Int(random.next() % UInt64(Limits.maxKeyByteCount + 1)) {
          key.append(UInt8(truncatingIfNeeded: random.next() % 3))
        }
        return number % 4 == 0 ? Array(key.prefix(3)) : key
      }
    }
  }

  /// Returns a random value whose length is often near one of the limits for this page size.
  package static func value(_ random: inout SeededGenerator, pageByteCount: Int) -> [UInt8] {
    let quarter = (pageByteCount - 40) / 4
    let payload = pageByteCount - 32
    let edges = [0, 1, 8, 20, 100, 100, 100, quarter - 22, quarter - 14, quarter, payload]
    var length = edges[Int(random.next() % UInt64(edges.count))]
    length += Int(random.next() % 5) - 2
    if random.next() % 200 == 0 { length = payload * Int(random.next() % 5) + length }
    return value(random.next(), count: max(0, length))
  }

  package static func value(_ seed: UInt64, count: Int) -> [UInt8] {
    var bytes = [UInt8](repeating: UInt8(truncatingIfNeeded: seed), count: count)
    // A few distinct bytes are sufficient to detect chunks that are in the wrong order.
    for index in stride(from: 0, to: count, by: count > 2000 ? 509 : 7) {
      bytes[index] = UInt8(truncatingIfNeeded: seed &+ UInt64(index) &* 0x9E37 >> 4)
    }
    return bytes
  }

  package static func bigEndian(_ number: UInt64) -> [UInt8] {
    (0..<8).map { UInt8(truncatingIfNeeded: number >> UInt64(56 - $0 * 8)) }
  }
}

extension [UInt8] {
  /// Returns whether these bytes sort before `other`.
  ///
  /// In debug builds, this is much faster than the generic comparison.
  package func precedes(_ other: [UInt8]) -> Bool {
    withBytes { own in other.withBytes { own.compare($0) < 0 } }
  }
}
