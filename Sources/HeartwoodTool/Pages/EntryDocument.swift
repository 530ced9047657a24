import HeartwoodEngine

/// A JSON document that lists entries.
///
/// The document is written while the entries are being read, because a keyspace can be larger than
/// memory.
final class EntryDocument {
  /// An entry of the document.
  ///
  /// If the document lists only keys, all properties of the value are `nil`.
  struct Entry: Encodable {
    /// The components of the key, or `nil` if its bytes are not a valid encoding.
    private let key: [Component]?
    /// The encoded key in hexadecimal.
    private let keyBytes: String
    /// The value, or `nil` if it is not readable text.
    private let value: String?
    /// The value in hexadecimal, or `nil` if it is readable text.
    private let valueBytes: String?
    /// The length of the complete value in bytes.
    private let valueByteCount: Int?
    /// A Boolean value that indicates whether the value is truncated.
    private let isCut: Bool?

    init(key: [UInt8], value: ShownValue?) {
      self.key = KeyNotation.components(of: key)?.map(Component.init)
      keyBytes = KeyNotation.digits(key)
      let text = value?.readableText
      self.value = text
      valueBytes = text == nil ? value.map { KeyNotation.digits($0.bytes) } : nil
      valueByteCount = value?.byteCount
      isCut = value?.isCut
    }
  }

  /// A component of a key.
  ///
  /// A component whose type does not exist in JSON is encoded as an object with one member.
  private struct Component: Encodable {
    let component: Key.Component

    func encode(to encoder: any Encoder) throws {
      var container = encoder.singleValueContainer()
      switch component {
      case .absent: try container.encodeNil()
      case .boolean(let value): try container.encode(value)
      case .integer(let value): try container.encode(value)
      case .largeInteger(let value): try container.encode(value)
      case .float(let value) where value.isFinite: try container.encode(value)
      case .float: try container.encode(["float": component.description])
      case .date(let seconds) where seconds.isFinite: try container.encode(["date": seconds])
      case .date: try container.encode(["date": component.description])
      case .uuid: try container.encode(["uuid": component.description])
      case .string(let value): try container.encode(value)
      case .bytes(let value): try container.encode(["bytes": KeyNotation.digits(value)])
      }
    }
  }

  private struct Head: Encodable {
    let name: String
    let entryCount: Int
  }

  private let generation: Generation
  private let output: Output
  private var keyspaceCount = 0
  private var entryCount = 0

  init(_ generation: Generation, _ output: Output) {
    self.generation = generation
    self.output = output
  }

  func begin() throws {
    try output.write("{\n  \"generation\" : \(generation.frame),\n  \"keyspaces\" : [")
  }

  /// Begins the list of a keyspace's entries.
  func begin(_ name: String, entryCount: Int) throws {
    let head = try JSONText.line(of: Head(name: name, entryCount: entryCount))
    // Omit the closing brace, because the entries are added to this object as another member.
    try output.write(
      (keyspaceCount == 0 ? "\n" : ",\n") + "    " + head.dropLast() + ",\"entries\":[")
    keyspaceCount += 1
    self.entryCount = 0
  }

  func add(_ entry: Entry) throws {
    try output.write((entryCount == 0 ? "\n" : ",\n") + "      " + JSONText.line(of: entry))
    entryCount += 1
  }

  func endKeyspace() throws { try output.write(entryCount == 0 ? "]}" : "\n    ]}") }

  func end() throws { try output.line(keyspaceCount == 0 ? "]\n}" : "\n  ]\n}") }
}
