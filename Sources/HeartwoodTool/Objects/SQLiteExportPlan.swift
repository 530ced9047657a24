import Heartwood
import SQLiteWriter

/// The tables and views of a SQLite file that contains the objects of a store.
///
/// Each entity has a table. If an entity inherits from another entity, its table contains only the
/// properties declared by the entity itself. An object has the same `id` in both tables, and a view
/// joins the tables. To-one relationships are foreign keys. A to-many relationship that is not
/// determined by a foreign key has its own table.
struct SQLiteExportPlan {
  struct Table {
    let entity: EntityFacts
    let definition: SQLiteTable
    /// The properties stored in the columns that follow the `id` and the entity's name.
    let paths: [String]
    /// A Boolean value that indicates whether the table has a column that contains the name of each
    /// object's entity.
    let namesEntity: Bool
  }

  /// A table that contains the members of a to-many relationship.
  struct MemberTable {
    let definition: SQLiteTable
    let entity: String
    let relationship: String
    let isOrdered: Bool
  }

  private(set) var tables: [Table] = []
  private(set) var memberTables: [MemberTable] = []
  private(set) var views: [(name: String, query: String)] = []
  private let entities: [String: EntityFacts]
  /// The entities that have a superentity or subentities.
  private let relatives: Set<String>
  private var names = SQLiteExportNames()
  private var tableNames: [String: String] = [:]

  init(_ all: [EntityFacts]) {
    entities = Dictionary(all.map { ($0.name, $0) }) { first, _ in first }
    relatives = Set(
      all.filter { $0.superentity != nil }.map(\.name) + all.compactMap(\.superentity))
    for entity in all { tableNames[entity.name] = names.add(entity.name) }
    for entity in all { addTable(of: entity) }
    for entity in all { addMemberTables(of: entity) }
    for entity in all where entity.superentity != nil { addView(of: entity) }
  }

  /// Returns the `id` of an object: its number within its entity or, if the entity shares a table
  /// with other entities, its number within the store.
  func number(of id: ManagedObjectID) -> Int64 {
    id.entityName.map { relatives.contains($0) } ?? true ? id.bits : id.row
  }

  // MARK: Tables

  private mutating func addTable(of entity: EntityFacts) {
    let inherited = entity.superentity.flatMap { entities[$0] }
    let attributes = entity.attributes.dropFirst(inherited?.attributes.count ?? 0)
    let references = entity.relationships.dropFirst(inherited?.relationships.count ?? 0)
      .filter { !$0.isToMany }
    let namesEntity = inherited == nil && relatives.contains(entity.name)
    var columnNames = SQLiteExportNames()
    let key = columnNames.add("id")
    var columns: [SQLiteColumn] = []
    if namesEntity {
      columns.append(SQLiteColumn(columnNames.add("entity"), .text, isRequired: true))
    }
    var byName: [String: String] = [:]
    for attribute in attributes {
      let name = columnNames.add(attribute.name)
      byName[attribute.name] = name
      columns.append(
        SQLiteColumn(name, attribute.type.column, isRequired: attribute.isRequiredColumn))
    }
    let name = tableNames[entity.name] ?? entity.name
    var definition = SQLiteTable(name: name, key: .rowid(key), columns: [])
    if let parent = inherited.flatMap({ tableNames[$0.name] }) {
      definition.foreignKeys.append(SQLiteForeignKey([key], references: parent, ["id"]))
    }
    for reference in references {
      let column = columnNames.add(reference.name)
      columns.append(SQLiteColumn(column, .integer))
      if let target = tableNames[reference.destination] {
        definition.foreignKeys.append(SQLiteForeignKey([column], references: target, ["id"]))
      }
      definition.indexes.append(SQLiteIndex(names.add("\(name)_\(column)"), on: [column]))
    }
    for index in entity.indexes where index.isOwn && index.tokenizer == nil {
      let indexed = index.attributes.compactMap { byName[$0] }
      guard indexed.count == index.attributes.count else { continue }
      let indexName = names.add("\(name)_\(indexed.joined(separator: "_"))")
      definition.indexes.append(SQLiteIndex(indexName, on: indexed, isUnique: index.isUnique))
    }
    definition.columns = columns
    tables.append(
      Table(
        entity: entity, definition: definition,
        paths: attributes.map(\.name) + references.map(\.name), namesEntity: namesEntity))
  }

  private mutating func addMemberTables(of entity: EntityFacts) {
    let inherited = entity.superentity.flatMap { entities[$0] }
    for relationship in entity.relationships.dropFirst(inherited?.relationships.count ?? 0)
    where hasTable(relationship, of: entity) {
      guard let owner = tableNames[entity.name], let member = tableNames[relationship.destination]
      else { continue }
      let columns =
        relationship.isOrdered ? ["owner", "position", "member"] : ["owner", "member"]
      let definition = SQLiteTable(
        name: names.add("\(owner)_\(relationship.name)"), key: .columns(Array(columns.prefix(2))),
        columns: columns.map { SQLiteColumn($0, .integer, isRequired: true) },
        foreignKeys: [
          SQLiteForeignKey(["owner"], references: owner, ["id"]),
          SQLiteForeignKey(["member"], references: member, ["id"]),
        ],
        indexes: [SQLiteIndex(names.add("\(owner)_\(relationship.name)_member"), on: ["member"])])
      memberTables.append(
        MemberTable(
          definition: definition, entity: entity.name, relationship: relationship.name,
          isOrdered: relationship.isOrdered))
    }
  }

  /// Returns whether a relationship needs its own table, because no other table determines its
  /// members.
  private func hasTable(
    _ relationship: EntityFacts.Relationship, of entity: EntityFacts
  ) -> Bool {
    guard relationship.isToMany else { return false }
    if relationship.isOrdered { return true }
    guard
      let inverse = entities[relationship.destination]?.relationships.first(where: {
        $0.name == relationship.inverse
      })
    else { return true }
    guard inverse.isToMany, !inverse.isOrdered else { return false }
    // Only one of two inverse relationships may have a table. Comparing the entities that declare
    // them gives opposite results for the two relationships.
    let other = declaringEntity(of: inverse.name, in: relationship.destination)
    return (entity.name, relationship.name) <= (other, inverse.name)
  }

  /// Returns the name of the entity that declares a relationship: either `entity` or an entity that
  /// it inherits from.
  private func declaringEntity(of relationship: String, in entity: String) -> String {
    var name = entity
    while let parent = entities[name]?.superentity,
      entities[parent]?.relationships.contains(where: { $0.name == relationship }) == true
    {
      name = parent
    }
    return name
  }

  private mutating func addView(of entity: EntityFacts) {
    guard let own = tableNames[entity.name] else { return }
    var query = "SELECT * FROM \(own.sqlQuoted)"
    var parent = entity.superentity
    while let name = parent, let table = tableNames[name] {
      query += " JOIN \(table.sqlQuoted) USING (id)"
      parent = entities[name]?.superentity
    }
    views.append((names.add("\(own)_all"), query))
  }
}

/// A set of names that are unique in a SQLite file, even when case is ignored.
private struct SQLiteExportNames {
  private var used: Set<String> = []

  /// Adds a name, and returns it with a number appended if the name is already in use.
  mutating func add(_ name: String) -> String {
    let base = name.lowercased().hasPrefix("sqlite_") ? "_" + name : name
    var result = base
    var number = 2
    while !used.insert(result.lowercased()).inserted {
      result = "\(base)_\(number)"
      number += 1
    }
    return result
  }
}

extension EntityFacts.Attribute {
  /// A Boolean value that indicates whether the column never contains `NULL`.
  ///
  /// The column of a required floating-point attribute can contain `NULL`, because the export
  /// writes NaN as `NULL`.
  fileprivate var isRequiredColumn: Bool {
    !isOptional && type != .double && type != .float
  }
}

extension StorageType {
  fileprivate var column: SQLiteColumnType {
    switch self {
    case .bool: .declared("BOOLEAN")
    case .int8, .int16, .int32, .int64, .uint8, .uint16, .uint32, .reference: .integer
    // Declare no type, because a number that is too large for a SQLite integer is stored as text.
    case .uint64: .any
    case .float, .double: .real
    case .date, .uuid, .string, .decimal, .json: .text
    case .bytes: .blob
    }
  }
}
