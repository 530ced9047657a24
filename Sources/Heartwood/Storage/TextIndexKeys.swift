/// The keys in a text index's keyspace for the objects of one entity.
///
/// Every key begins with a byte string that consists of the number of the entity, the kind of the
/// entry and, if the entry belongs to a term, the term.
package struct TextIndexKeys {
  enum Kind: UInt8 {
    /// The number of objects, and the total number of words in them.
    case totals
    /// A row whose changes are not yet in the posting lists.
    case pending
    /// The lengths, in words, of the objects in a range of rows.
    case lengths
    /// The number of objects that contain a term, and the term's posting list if it is short.
    case term
    /// A block of a long posting list.
    case block
  }

  /// The number of rows whose lengths are stored in one entry.
  static let rowsPerLengths: Int64 = 512

  private let entity: [UInt8]

  package init(entity number: Int) {
    var entity: [UInt8] = []
    entity.append(varint: UInt64(number))
    self.entity = entity
  }

  private func key(_ kind: Kind, _ term: some Collection<UInt8>, row: Int64? = nil) -> Key {
    var encoder = KeyEncoder()
    encoder.append(entity + [kind.rawValue] + term)
    if let row { encoder.append(row) }
    return Key(unverified: encoder.bytes)
  }

  var totals: Key { key(.totals, []) }

  package func term(_ term: some Collection<UInt8>) -> Key { key(.term, term) }

  func block(_ term: some Collection<UInt8>, row: Int64) -> Key { key(.block, term, row: row) }

  func pending(_ row: Int64) -> Key { key(.pending, [], row: row) }

  /// The range that contains the keys of all pending rows.
  var allPending: (lower: Key, upper: Key?) { Self.range(from: key(.pending, []).bytes) }

  func lengths(of row: Int64) -> Key { key(.lengths, [], row: row / Self.rowsPerLengths) }

  /// Returns the range that contains the keys of all terms that begin with `prefix`.
  func terms(prefix: [UInt8]) -> (lower: Key, upper: Key?) {
    Self.range(from: key(.term, prefix).bytes)
  }

  /// Returns the prefix shared by the keys of a term's blocks.
  func blockPrefix(_ term: some Collection<UInt8>) -> [UInt8] {
    Array(key(.block, term, row: 0).bytes.dropLast(8))
  }

  private static func range(from bytes: [UInt8]) -> (lower: Key, upper: Key?) {
    var upper = bytes
    while upper.last == 0xFF { upper.removeLast() }
    guard let last = upper.popLast() else { return (Key(unverified: bytes), nil) }
    upper.append(last + 1)
    return (Key(unverified: bytes), Key(unverified: upper))
  }

  /// Returns the term contained in the key of a term's entry.
  package func term(ofKey key: [UInt8]) throws -> [UInt8] {
    guard let term = try term(at: key) else { throw TextPostings.damage }
    return term
  }

  /// Returns the term contained in a key, or `nil` if the key belongs to another kind of entry.
  func term(at key: [UInt8]) throws -> [UInt8]? {
    guard let first = try? Key.Component.all(in: key).first, case .bytes(let bytes) = first else {
      throw TextPostings.damage
    }
    guard bytes.starts(with: entity + [Kind.term.rawValue]) else { return nil }
    guard bytes.count > entity.count + 1 else { throw TextPostings.damage }
    return Array(bytes[(entity.count + 1)...])
  }
}

extension [UInt8] {
  /// Appends a number in groups of seven bits, lowest group first.
  @inline(__always)
  mutating func append(varint value: UInt64) {
    var rest = value
    while rest >= 0x80 {
      append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    append(UInt8(truncatingIfNeeded: rest))
  }

  /// Reads a number written by ``append(varint:)``, and moves `offset` past it.
  @inline(__always)
  func varint(at offset: inout Int) throws -> UInt64 {
    guard offset < count else { throw TextPostings.damage }
    let first = self[offset]
    offset += 1
    if first < 0x80 { return UInt64(first) }
    return try longVarint(UInt64(first & 0x7F), at: &offset)
  }

  private func longVarint(_ first: UInt64, at offset: inout Int) throws -> UInt64 {
    var value = first
    var shift: UInt64 = 7
    while offset < count, shift < 63 {
      let byte = self[offset]
      offset += 1
      value |= UInt64(byte & 0x7F) << shift
      if byte < 0x80 { return value }
      shift += 7
    }
    throw TextPostings.damage
  }
}
