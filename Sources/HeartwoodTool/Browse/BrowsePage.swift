import Foundation
import Heartwood
import HeartwoodEngine

/// An HTML page that shows the objects of one generation.
///
/// The page is a single file and needs no network access. Its script builds the tables from JSON
/// rows. No data from the store is inserted into the script or the style sheet. The page's security
/// policy blocks all other scripts and style sheets.
struct BrowsePage {
  let entities: [BrowsedEntity]
  private let objects: StoredObjects
  private let path: String
  /// The random nonce that the page's security policy requires of scripts and style sheets.
  private let nonce: String

  /// The maximum number of members to show for each to-many relationship of an object.
  private static let memberLimit = 20

  /// Creates a page with the objects of one generation.
  ///
  /// - Parameter limit: The maximum number of rows for each entity.
  init(of objects: StoredObjects, _ store: Store, _ path: String, limit: Int) throws {
    self.objects = objects
    self.path = URL(fileURLWithPath: path).path
    let sizes = try KeyspaceSizes(of: objects.snapshot, in: store)
    entities = try objects.entities.enumerated().map { position, facts in
      try BrowsedEntity(facts, position, objects, sizes, limit: limit)
    }
    nonce = (0..<2).map { _ in JSONText.digits(.random(in: .min ... .max)) }.joined()
  }

  var rowCount: Int { entities.reduce(0) { $0 + $1.rowCount } }
  var includedRowCount: Int { entities.reduce(0) { $0 + $1.includedRowCount } }

  /// Writes the page, keeping only one row in memory at a time.
  func write(to file: ReplacementFile) throws {
    try file.write(head)
    try file.write(model)
    for entity in entities {
      try file.write(section(entity))
      try writeRows(of: entity, to: file)
      try file.write("</section>\n")
    }
    try file.write(foot)
  }

  // MARK: Start and end of the page

  private var head: String {
    let name = HTMLText.visible(URL(fileURLWithPath: path).lastPathComponent)
    let generation = "\(objects.snapshot.generation)"
    return """
      <!doctype html>
      <html lang="en">
      <head>
      <meta charset="utf-8">
      <meta http-equiv="Content-Security-Policy" content="default-src 'none'; \
      script-src 'nonce-\(nonce)'; style-src 'nonce-\(nonce)'; base-uri 'none'; \
      form-action 'none'; require-trusted-types-for 'script'">
      <meta name="viewport" content="width=device-width, initial-scale=1">
      <meta name="color-scheme" content="light dark">
      <meta name="referrer" content="no-referrer">
      <title>\(name), \(generation)</title>
      <style nonce="\(nonce)">
      \(PageStyle.text)
      </style>
      </head>
      <body>
      <main>
      <header>
      <h1>\(name)</h1>
      <p class="lead">\(generation)\(time)</p>
      <p class="quiet path">\(HTMLText.visible(path))</p>
      <p class="quiet">\(total)</p>
      <noscript><p class="note">Enable JavaScript to see the tables.</p></noscript>
      <p id="failure" class="note" role="alert" hidden></p>
      </header>

      """
  }

  private var time: String {
    // Omit the commit time if the store is empty, because no commit exists.
    guard objects.snapshot.generation.frame > 0 else { return "" }
    let text = TimeText.text(objects.snapshot.state.point.time)
    let shown = text.prefix(19).replacing("T", with: " ")
    return " of <time datetime=\"\(text)\">\(shown) UTC</time>"
  }

  private var total: String {
    let byteCount = entities.reduce(0) { $0 + $1.rowByteCount + $1.indexByteCount }
    return "\(HumanText.count(entities.count, "entity")), \(HumanText.count(rowCount, "object")), "
      + "\(HumanText.size(byteCount)) of rows and indexes"
  }

  private var foot: String {
    """
    </main>
    <script nonce="\(nonce)">
    \(PageScript.text)
    </script>
    </body>
    </html>

    """
  }

  // MARK: The model

  private struct Facts: Encodable {
    let name: String
    let label: Int?
    let columns: [BrowsedEntity.Column]
  }

  private var model: String {
    get throws {
      let facts = entities.map {
        Facts(name: $0.facts.name, label: $0.labelColumn, columns: $0.columns)
      }
      return """
        <section aria-labelledby="model-title">
        <h2 id="model-title">Model</h2>
        \(entities.count > ModelDrawing.entityLimit ? list : drawing)
        </section>
        <script type="application/json" id="model">\
        \(PageJSON.safe(try JSONText.line(of: facts)))</script>

        """
    }
  }

  private var drawing: String {
    guard !entities.isEmpty else { return "<p class=\"quiet\">The model has no entities.</p>" }
    let drawing = ModelDrawing(entities)
    let lines =
      drawing.hasLines
      ? """
       A fork at the end of a line stands for many objects, and a bar stands for at most one \
      object. An arrow points to the entity from which another entity inherits.
      """ : ""
    return """
      <div class="drawing" tabindex="0" role="region" aria-label="Model">
      \(drawing.svg)
      </div>
      <p class="quiet">The number next to an entity's name is its number of objects.\(lines)</p>
      """
  }

  private var list: String {
    let all = entities.map(\.facts)
    let items = entities.map { entity in
      let relationships = ModelGraph.own(entity.facts, in: all).map {
        "<li>\(HTMLText.visible("\($0.name): \($0.leadText)"))</li>"
      }
      let leads = relationships.isEmpty ? "" : "<ul>\(relationships.joined())</ul>"
      let name = HTMLText.visible(entity.facts.name)
      return "<li><a href=\"#entity-\(entity.position)\">\(name)</a>\(superentity(of: entity)) "
        + "<span class=\"quiet\">\(HumanText.count(entity.rowCount, "object"))</span>\(leads)</li>"
    }
    return "<ul class=\"entities\">\n\(items.joined(separator: "\n"))\n</ul>"
  }

  private func superentity(of entity: BrowsedEntity) -> String {
    entity.facts.superentity.map { ": \(HTMLText.visible($0))" } ?? ""
  }

  // MARK: Entities

  private func section(_ entity: BrowsedEntity) -> String {
    let position = entity.position
    let note = entity.facts.isAbstract ? " <small>abstract</small>" : ""
    return """
      <section id="entity-\(position)" aria-labelledby="name-\(position)">
      <h2 id="name-\(position)">\(HTMLText.visible(entity.facts.name))<small>\
      \(superentity(of: entity))</small>\(note)</h2>
      <p class="quiet">\(sizes(of: entity))</p>
      \(leftOut(of: entity))\(EntityTables(entity).html)
      <div class="objects" id="objects-\(position)"></div>

      """
  }

  private func sizes(of entity: BrowsedEntity) -> String {
    "\(HumanText.count(entity.rowCount, "object")), rows \(HumanText.size(entity.rowByteCount)), "
      + "own indexes \(HumanText.size(entity.indexByteCount))"
  }

  private func leftOut(of entity: BrowsedEntity) -> String {
    let count = entity.rowCount - entity.includedRowCount
    guard count > 0 else { return "" }
    return """
      <p class="note">The page contains the first \(HumanText.count(entity.includedRowCount)) of \
      \(HumanText.count(entity.rowCount, "object")); \(HumanText.count(count)) \
      \(count == 1 ? "is" : "are") omitted. To include more objects, use a higher --limit.</p>

      """
  }

  private func writeRows(of entity: BrowsedEntity, to file: ReplacementFile) throws {
    try file.write("<script type=\"application/json\" id=\"rows-\(entity.position)\">[")
    var separator = "\n"
    try objects.forEachRow(
      of: entity.facts, limit: entity.includedRowCount, memberLimit: Self.memberLimit
    ) { row in
      let attributeCount = row.values.count - row.memberCounts.count
      let cells = row.values.enumerated().map { position, value in
        let relationship = position - attributeCount
        return PageJSON.cell(
          value, memberCount: relationship < 0 ? 0 : row.memberCounts[relationship])
      }
      try file.write("\(separator)[\((["\(row.number)"] + cells).joined(separator: ","))]")
      separator = ",\n"
    }
    try file.write("\n]</script>\n")
  }
}
