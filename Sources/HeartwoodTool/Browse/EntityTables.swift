import Heartwood

/// The properties and indexes of an entity as HTML tables.
struct EntityTables {
  private let entity: BrowsedEntity

  init(_ entity: BrowsedEntity) { self.entity = entity }

  var html: String {
    let facts = entity.facts
    let attributes = facts.attributes.map { attribute in
      [attribute.name, attribute.typeText, attribute.derivation.map { "derived: \($0)" } ?? ""]
    }
    let relationships = facts.relationships.map { relationship in
      [
        relationship.name, relationship.leadText, relationship.inverse ?? "",
        relationship.deleteRule.rawValue,
      ]
    }
    let indexes = entity.indexes.map { index in
      [
        index.facts.attributes.joined(separator: ", "),
        index.facts.isUnique ? "unique" : index.facts.tokenizer ?? "",
        HumanText.count(index.entryCount), HumanText.size(index.byteCount),
      ]
    }
    let tables = [
      Self.table("Attributes", ["attribute", "type", ""], attributes),
      Self.table(
        "Relationships", ["relationship", "destination", "inverse", "delete rule"], relationships),
      Self.table("Indexes", ["index", "", "entries", "size"], indexes),
    ]
    return "<details><summary>Properties and indexes</summary>"
      + "<div class=\"properties\">\(tables.joined())</div></details>"
  }

  private static func table(_ name: String, _ titles: [String], _ rows: [[String]]) -> String {
    guard !rows.isEmpty else { return "" }
    let head = titles.map { "<th scope=\"col\">\($0)</th>" }.joined()
    let body = rows.map { row in
      "<tr>\(row.map { "<td>\(HTMLText.visible($0))</td>" }.joined())</tr>"
    }
    return "<table aria-label=\"\(name)\"><thead><tr>\(head)</tr></thead>"
      + "<tbody>\(body.joined())</tbody></table>"
  }
}
