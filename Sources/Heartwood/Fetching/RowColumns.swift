/// The columns that a `Decodable` type reads from rows, discovered during decoding.
///
/// A column is a property of the fetched object, or of an object reached through to-one
/// relationships. A column is discovered when the type first requests it. The column is then added,
/// and the row is decoded again.
final class RowColumns {
  /// The fetched object, or an object that is reached from it through to-one relationships.
  struct Node {
    let entity: EntityDescription
    let expression: QueryExpression
    /// The index of the parent in `nodes`, and the key under which the parent refers to this node.
    let origin: (parent: Int, name: String)?
  }

  struct Column {
    let node: Int
    let name: String
    /// The property, or `nil` for the object's ID.
    let property: PropertyDescription?
  }

  private(set) var nodes: [Node]
  private(set) var columns: [Column] = []
  /// A column that the decoded type requested but that has not been read.
  private(set) var missing: Column?
  let space: ManagedObjectID.Space
  private let schema: Schema.Content
  private var values: [StoredValue] = []
  /// The index of the column that is expected next.
  ///
  /// Every row requests its columns in the same order.
  private var next = 0

  init(_ entity: EntityDescription, _ model: StoreModel) {
    nodes = [Node(entity: entity, expression: .variable(0), origin: nil)]
    schema = model.schema
    space = model.space
  }

  /// The error for a column that has not been read yet.
  struct Unread: Error {}

  /// The coding key of an object's ID.
  static let idName = "objectID"

  /// The expressions of the columns.
  var expressions: [QueryExpression] {
    columns.map { column in
      let base = nodes[column.node].expression
      return column.property == nil ? base : .property(base, .name(column.name))
    }
  }

  /// Appends the missing column to `columns`.
  ///
  /// - Returns: `false` if no column is missing; otherwise, `true`.
  func addMissing() -> Bool {
    guard let missing else { return false }
    columns.append(missing)
    self.missing = nil
    return true
  }

  /// Decodes one row.
  func decode<Row: Decodable>(_ type: Row.Type, _ row: [StoredValue]) throws -> Row {
    values = row
    next = 0
    let result = Result { try Row(from: RowDecoder(columns: self, node: 0, codingPath: [])) }
    // Throw the error again, because the row type may have caught it and substituted another value.
    if missing != nil { throw Unread() }
    return try result.get()
  }

  /// Returns the column for a property, or `nil` if the node's entity does not have the property.
  private func column(_ name: String, of node: Int) -> Column? {
    if name == Self.idName { return Column(node: node, name: name, property: nil) }
    let property = nodes[node].entity.properties.first { $0.name == name }
    guard let property, property.fieldStorageType != nil else { return nil }
    return Column(node: node, name: name, property: property)
  }

  /// Returns whether a node has a composite attribute with the given name.
  func isComposite(_ name: String, in node: Int) -> Bool { nodes[node].entity.isComposite(name) }

  func contains(_ name: String, in node: Int) -> Bool {
    position(of: name, in: node) != nil || column(name, of: node) != nil
  }

  /// Returns a node's possible column names that begin with a prefix.
  ///
  /// The prefix is removed from the names.
  func names(of node: Int, prefix: String) -> [String] {
    nodes[node].entity.properties.filter {
      $0.fieldStorageType != nil && $0.name.hasPrefix(prefix)
    }.map { String($0.name.dropFirst(prefix.count)) }
  }

  private func position(of name: String, in node: Int) -> Int? {
    func isAt(_ position: Int) -> Bool {
      columns.indices.contains(position) && columns[position].node == node
        && columns[position].name == name
    }
    if isAt(next) { return next }
    if isAt(next - 1) { return next - 1 }
    return columns.firstIndex { $0.node == node && $0.name == name }
  }

  /// Returns the value of a column in the current row, and the column's property.
  ///
  /// - Parameters:
  ///   - name: The key's name, with the prefix of the composite attribute, if any.
  func value(
    _ name: String, _ key: some CodingKey, in node: Int, _ path: [any CodingKey]
  ) throws -> (value: StoredValue, property: PropertyDescription?) {
    if let position = position(of: name, in: node) {
      next = position + 1
      return (values[position], columns[position].property)
    }
    guard let column = column(name, of: node) else {
      throw DecodingError.keyNotFound(
        key,
        DecodingError.Context(
          codingPath: path,
          debugDescription: "\(nodes[node].entity.name) has no attribute or to-one relationship "
            + "named \(name). Use the names of the class's properties as coding keys."
        ))
    }
    if missing == nil { missing = column }
    throw Unread()
  }

  /// Returns the node for the target of a to-one relationship.
  func node(_ property: PropertyDescription, of parent: Int) -> Int? {
    if let known = nodes.firstIndex(where: {
      $0.origin.map { $0.parent == parent && $0.name == property.name } ?? false
    }) {
      return known
    }
    guard let entity = schema.destination(of: property) else { return nil }
    nodes.append(
      Node(
        entity: entity, expression: .property(nodes[parent].expression, .name(property.name)),
        origin: (parent, property.name)))
    return nodes.count - 1
  }
}
