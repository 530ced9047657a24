import HeartwoodEngine

/// Keys, and the rows of the catalog.
extension FuzzTarget {
  /// Keys with any components.
  static let key = FuzzTarget("key", words: ["\u{0}\u{FF}", "\u{0}@"], seeds: keyInputs) { bytes in
    var input = FuzzInput(bytes)
    let kind = input.byte()
    let encoded = input.rest.copied()
    let key = try Key(encoded: encoded)
    let components = try Key.Component.all(in: encoded)
    var encoder = KeyEncoder()
    for component in components { component.encode(into: &encoder) }
    guard encoder.bytes == encoded else { return "The key has a second encoding." }
    guard !key.description.isEmpty else { return "The key has no description." }
    do throws(StorageError) {
      _ = try decode(encoded.span.bytes, kind)
    } catch {
      return error.kind == .invalidArgument ? nil : "A valid key is rejected: \(error)"
    }
    return nil
  }

  /// Decodes a key with the known types of its components, as programs do.
  private static func decode(_ bytes: RawSpan, _ kind: UInt8) throws(StorageError) -> Int {
    switch kind % 8 {
    case 0: try Key.decode(bytes, as: String.self, Int64.self).0.utf8.count
    case 1: try Key.decode(bytes, as: Int?.self, [UInt8].self).1.count
    case 2: try Key.decode(bytes, as: UInt64.self).hashValue
    case 3: try Key.decode(bytes, as: Float.self, Double.self).0.hashValue
    case 4: try Key.decode(bytes, as: Bool.self, UInt8?.self, String?.self).1?.hashValue ?? 0
    case 5: try Key.decode(bytes, as: String.self, String.self, String.self).2.utf8.count
    case 6: try Key.decode(bytes, as: [UInt8].self).count
    default: try Key.decode(bytes, as: Int8.self, Int16.self, Int32.self).0.hashValue
    }
  }

  @Sendable private static func keyInputs() -> [[UInt8]] {
    let keys: [Key] = [
      Key("config"), Key("nc", 73_275_410), Key(Int?.none, [0, 1, 0, 0xFF] as [UInt8]),
      Key(UInt64.max), Key(Float(1.5), -0.25), Key(true, UInt8(3), "a\u{0}b"),
      Key("é", "", "x"), Key([] as [UInt8]), Key(Int8.min, Int16.max, Int32(0)),
      Key(Double.nan, -Double.infinity),
    ]
    var encoder = KeyEncoder()
    encoder.append(date: 1_700_000_000.5)
    encoder.append(uuid: (high: 1 << 63, low: 5))
    encoder.appendNil()
    return (keys.map(\.bytes) + [encoder.bytes]).enumerated().map { [UInt8($0)] + $1 }
  }

  /// Rows and keys of the catalog.
  static let catalog = FuzzTarget("catalog", seeds: catalogInputs) { bytes in
    var input = FuzzInput(bytes)
    if input.byte() & 1 == 0 {
      let row = try Catalog.decode(input.rest)
      let again = try Catalog.encode(row).withBytes { bytes throws(StorageError) in
        try Catalog.decode(bytes)
      }
      return again == row ? nil : "The row differs after encoding it again."
    }
    let key = input.rest.copied()
    let name = try key.withBytes { bytes throws(StorageError) in try Catalog.name(of: bytes) }
    let again = name.map { Key($0) } ?? Catalog.nextTreeKey
    return again.bytes == key ? nil : "The name has a second key."
  }

  @Sendable private static func catalogInputs() -> [[UInt8]] {
    // The row consists of the tree, the root page, the count and reserved bytes.
    let row: [UInt8] = [4, 0, 0, 0, 17, 0, 0, 0, 64, 156] + [UInt8](repeating: 0, count: 14)
    let keys = [Catalog.nextTreeKey, Key("objects.1"), Key("ä\u{0}")]
    return [[0] + row] + keys.map { [1] + $0.bytes }
  }
}

extension Key.Component {
  /// Appends the component to a key.
  fileprivate func encode(into encoder: inout KeyEncoder) {
    switch self {
    case .absent: encoder.appendNil()
    case .boolean(let value): encoder.append(value)
    case .integer(let value): encoder.append(value)
    case .largeInteger(let value): encoder.append(value)
    case .float(let value): encoder.append(value)
    case .date(let seconds): encoder.append(date: seconds)
    case .uuid(let high, let low): encoder.append(uuid: (high, low))
    case .string(let value): encoder.append(value)
    case .bytes(let value): encoder.append(value)
    }
  }
}
