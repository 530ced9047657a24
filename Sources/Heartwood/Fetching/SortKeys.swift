import HeartwoodEngine

extension FetchOrder {
  /// The sort keys of an object.
  struct Keys {
    let values: Values
    let number: ObjectNumber
  }

  /// An object's values for the terms of a sort order.
  ///
  /// The first value is stored inline, so an order with a single term needs no array for each
  /// object.
  struct Values: Equatable {
    /// The value for the first term, or `nil` if the order has no terms.
    let first: StoredValue?
    private let rest: [StoredValue]

    var count: Int { first == nil ? 0 : 1 + rest.count }

    init(_ values: [StoredValue]) {
      first = values.first
      rest = Array(values.dropFirst())
    }

    /// Creates the values by evaluating the terms for the subject of `scope`.
    init(of terms: [Term], _ scope: QueryScope) throws {
      first = try terms.first?.value(scope)
      rest = terms.count < 2 ? [] : try terms.dropFirst().map { try $0.value(scope) }
    }

    subscript(position: Int) -> StoredValue {
      guard position == 0 else { return rest[position - 1] }
      guard let first else { preconditionFailure("A sort order must have at least one term.") }
      return first
    }
  }

  /// An abbreviated sort key: an integer that represents a fixed-length value in comparisons.
  ///
  /// Heads sort in the same order as their values, but different values may have equal heads.
  private struct Head: Comparable {
    enum Kind: UInt8 { case null, bool, integer, number }

    let kind: Kind
    let bits: UInt64

    /// Creates the head of a value, or returns `nil` if values of its type have no heads.
    init?(_ value: StoredValue) {
      switch value {
      case .null: (kind, bits) = (.null, 0)
      case .bool(let isTrue): (kind, bits) = (.bool, isTrue ? 1 : 0)
      case .integer(let number): (kind, bits) = (.integer, number.keyBits)
      case .double(let bits), .date(let bits):
        (kind, self.bits) = (.number, Double(bitPattern: bits).keyBits)
      default: return nil
      }
    }

    static func < (first: Head, second: Head) -> Bool {
      (first.kind.rawValue, first.bits) < (second.kind.rawValue, second.bits)
    }
  }

  /// Returns the indices of `keys`, arranged so that the keys at these indices are in order.
  ///
  /// If the values of the first term are numbers or dates, most comparisons involve only integers.
  func positions(of keys: [Keys]) -> [Int] {
    guard let first = terms.first, first.hasFixedLength, let heads = Self.heads(of: keys) else {
      return keys.indices.sorted { areInOrder(keys[$0], keys[$1]) }
    }
    let isReversed = first.isReversed
    return heads.sorted { first, second in
      first.head == second.head
        ? areInOrder(keys[first.position], keys[second.position])
        : (first.head < second.head) != isReversed
    }.map(\.position)
  }

  /// Returns the head of each key's first value, or `nil` if the values have no heads or are of
  /// different kinds.
  private static func heads(of keys: [Keys]) -> [(head: Head, position: Int)]? {
    var heads: [(head: Head, position: Int)] = []
    heads.reserveCapacity(keys.count)
    var kind = Head.Kind.null
    for position in keys.indices {
      guard let value = keys[position].values.first, let head = Head(value),
        kind == .null || head.kind == .null || head.kind == kind
      else { return nil }
      if kind == .null { kind = head.kind }
      heads.append((head, position))
    }
    return heads
  }
}

extension Array {
  /// Rearranges the elements so that the element at `positions[i]` moves to position `i`.
  ///
  /// Elements are exchanged instead of copied, because copying would retain and release them.
  ///
  /// - Parameter positions: A permutation of the array's indices.
  mutating func arrange(_ positions: [Int]) {
    var sources = positions
    for start in indices {
      var target = start
      while sources[target] != start {
        let source = sources[target]
        swapAt(target, source)
        sources[target] = target
        target = source
      }
      sources[target] = target
    }
  }
}
