import Heartwood
import HeartwoodEngine

/// The `query` command, which shows the objects of an entity that meet a condition.
enum QueryCommand {
  private struct Count: Encodable {
    let count: Int
  }

  private struct Explanation: Encodable {
    let steps: [String]
    let indexes: [String]
    let estimatedRowCount: Int
  }

  static func run(_ invocation: Invocation, _ output: Output) throws {
    try ObjectAccess.withObjects(invocation) { objects, _ in
      let entity = try ObjectAccess.entity(invocation.required(.entity), of: objects, invocation)
      let query = try query(of: entity, invocation)
      if invocation.has(.explain) {
        try explain(query, objects, invocation, output)
      } else if invocation.has(.count) {
        let count = try objects.count(query)
        try invocation.wantsJSON
          ? output.json(Count(count: count)) : output.line(HumanText.count(count))
      } else {
        try list(query, of: entity, objects, invocation, output)
      }
      // Flush the output now, because buffered output would be lost if closing the store failed.
      try output.flush()
    }
  }

  static func query(of entity: EntityFacts, _ invocation: Invocation) throws -> ObjectQuery {
    var query = ObjectQuery(entity: entity.name, condition: invocation[.condition])
    query.text = invocation[.search]
    query.limit = invocation.limit
    query.offset = invocation.offset
    query.order = (invocation.list(.sort) ?? []).map { text in
      text.hasPrefix("-") ? (String(text.dropFirst()), true) : (text, false)
    }
    return query
  }

  /// The name of the column that contains the IDs.
  private static let idName = "id"

  private static func list(
    _ query: ObjectQuery, of entity: EntityFacts, _ objects: StoredObjects,
    _ invocation: Invocation, _ output: Output
  ) throws {
    let columns = invocation.list(.columns) ?? Self.columns(of: entity)
    guard !columns.isEmpty else {
      throw ToolFailure.usage(
        "--columns contains no column names. List the column names, separated by commas.")
    }
    let rows = try RowOutput(RowFormat(invocation), columns, output)
    let isOwnID = !entity.attributes.contains { $0.name == idName }
    let paths = columns.map { $0 == idName && isOwnID ? nil : $0 }
    try objects.forEachRow(of: query, paths) { try rows.add($0) }
    try rows.end()
  }

  /// Returns the columns for the ID, the attributes and the to-one relationships.
  private static func columns(of entity: EntityFacts) -> [String] {
    let ids = entity.attributes.contains { $0.name == idName } ? [] : [idName]
    return ids + entity.attributes.map(\.name)
      + entity.relationships.filter { !$0.isToMany }.map(\.name)
  }

  private static func explain(
    _ query: ObjectQuery, _ objects: StoredObjects, _ invocation: Invocation, _ output: Output
  ) throws {
    let explanation = try objects.explanation(of: query)
    guard invocation.wantsJSON else { return try output.line(explanation.description) }
    try output.json(
      Explanation(
        steps: explanation.steps, indexes: explanation.indexes,
        estimatedRowCount: explanation.estimatedRowCount))
  }
}
