import Heartwood
import HeartwoodEngine

/// An entity as shown on the page of the `browse` command, with the sizes of its rows and indexes.
struct BrowsedEntity {
  /// A column of an entity's table, in the form expected by the page's script.
  struct Column: Encodable {
    /// The kind of the column's values, which determines how the page shows and compares them.
    enum Kind: String, Encodable {
      case row, bool, number, decimal, date, text, data, one, many
    }

    let name: String
    let kind: Kind
  }

  struct Index {
    let facts: EntityFacts.Index
    let entryCount: Int
    let byteCount: Int
  }

  let facts: EntityFacts
  /// The position of the entity on the page.
  let position: Int
  let rowCount: Int
  /// The number of the entity's rows that are included in the page.
  let includedRowCount: Int
  let rowByteCount: Int
  let indexes: [Index]

  init(
    _ facts: EntityFacts, _ position: Int, _ objects: StoredObjects, _ sizes: KeyspaceSizes,
    limit: Int
  ) throws {
    self.facts = facts
    self.position = position
    rowCount = try objects.rowCount(of: facts)
    includedRowCount = min(rowCount, limit)
    rowByteCount = sizes[facts.keyspace]
    indexes = try facts.indexes.map { index in
      Index(
        facts: index, entryCount: try objects.snapshot.keyspace(index.keyspace)?.count() ?? 0,
        byteCount: sizes[index.keyspace])
    }
  }

  /// The total size, in bytes, of the indexes that the entity itself declares.
  var indexByteCount: Int {
    indexes.filter(\.facts.isOwn).reduce(0) { $0 + $1.byteCount }
  }

  /// The columns of the table: the row number, the attributes and the relationships.
  var columns: [Column] {
    [Column(name: "row", kind: .row)]
      + facts.attributes.map { Column(name: $0.name, kind: Self.kind(of: $0.type)) }
      + facts.relationships.map { Column(name: $0.name, kind: $0.isToMany ? .many : .one) }
  }

  /// The position of the column whose text describes an object, or `nil` if there is no such
  /// column.
  var labelColumn: Int? {
    let texts = facts.attributes.enumerated().filter { $0.element.type == .string }
    let named = ["name", "title", "label"].lazy.compactMap { name in
      texts.first { $0.element.name == name }
    }.first
    return (named ?? texts.first).map { $0.offset + 1 }
  }

  private static func kind(of type: StorageType) -> Column.Kind {
    switch type {
    case .bool: .bool
    case .decimal: .decimal
    case .date: .date
    case .bytes: .data
    case .string, .uuid, .json: .text
    case .int8, .int16, .int32, .int64, .uint8, .uint16, .uint32, .uint64, .float, .double,
      .reference:
      .number
    }
  }
}

extension EntityFacts.Relationship {
  /// A description of the destination, such as "one Team" or "many Player".
  var leadText: String {
    "\(isToMany ? isOrdered ? "list of" : "many" : "one") \(destination)"
  }
}

extension EntityFacts.Attribute {
  /// The type, with a question mark if the attribute is optional.
  var typeText: String { "\(type)" + (isOptional ? "?" : "") }
}
