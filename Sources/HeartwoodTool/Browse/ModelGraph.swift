import Heartwood

/// The boxes and lines of a model diagram, without their positions.
struct ModelGraph {
  /// A box for an entity, with a title and one row for each of the entity's own properties.
  struct Box {
    let title: String
    let note: String
    let isAbstract: Bool
    var rows: [Row] = []
    /// The number of attributes that are omitted from the box.
    var hiddenCount = 0

    var width: Double {
      let texts = [Row(name: title, detail: note)] + rows
      let columns = texts.map { DisplayWidth.of($0.name) + DisplayWidth.of($0.detail) }.max() ?? 0
      return max(150, Double(columns) * 6.9 + 40)
    }

    var height: Double {
      Self.titleHeight + Double(rows.count + (hiddenCount > 0 ? 1 : 0)) * Self.rowHeight
        + (rows.isEmpty ? 0 : 8)
    }

    static let titleHeight = 30.0
    static let rowHeight = 20.0

    /// Returns the distance from the top of the box to the middle of a row, or to the middle of the
    /// title if `row` is `nil`.
    func offset(of row: Int?) -> Double {
      row.map { Self.titleHeight + 4 + (Double($0) + 0.5) * Self.rowHeight } ?? Self.titleHeight / 2
    }
  }

  struct Row {
    let name: String
    let detail: String
    var isRelationship = false
  }

  /// One end of a line, at a row or at the title of a box.
  struct End {
    /// The shape at the end of a line.
    enum Mark {
      case none, one, many, superentity
    }

    let box: Int
    let row: Int?
    let mark: Mark
  }

  struct Line {
    let ends: [End]
    /// A description of the line in words.
    let text: String

    var isInheritance: Bool { ends[1].mark == .superentity }
  }

  private(set) var boxes: [Box] = []
  private(set) var lines: [Line] = []

  /// The maximum numbers of attributes and relationships in a box.
  private static let (attributeLimit, relationshipLimit) = (12, 24)

  init(_ entities: [BrowsedEntity]) {
    let all = entities.map(\.facts)
    let positions = Dictionary(all.enumerated().map { ($1.name, $0) }) { first, _ in first }
    let relationships = all.map { Self.own($0, in: all) }
    boxes = zip(entities, relationships).map { Self.box($0, $1, in: all) }
    for (position, facts) in all.enumerated() {
      if let parent = facts.superentity.flatMap({ positions[$0] }) {
        let ends = [
          End(box: position, row: nil, mark: .none), End(box: parent, row: nil, mark: .superentity),
        ]
        lines.append(Line(ends: ends, text: "\(facts.name) inherits from \(all[parent].name)"))
      }
      for relationship in relationships[position] {
        guard let destination = positions[relationship.destination] else { continue }
        let inverse = relationships[destination].first { $0.name == relationship.inverse }
        // Draw only one line for a relationship and its inverse.
        if let inverse, (destination, inverse.name) < (position, relationship.name) { continue }
        let ends = [
          End(
            box: position, row: row(of: relationship.name, position),
            mark: inverse.map(Self.mark) ?? .none),
          End(
            box: destination, row: inverse.flatMap { row(of: $0.name, destination) },
            mark: Self.mark(relationship)),
        ]
        let back = inverse.map { "; \(all[destination].name).\($0.name): \($0.leadText)" } ?? ""
        lines.append(
          Line(
            ends: ends,
            text: "\(facts.name).\(relationship.name): \(relationship.leadText)\(back)"))
      }
    }
  }

  /// Returns the relationships that an entity does not inherit.
  static func own(
    _ facts: EntityFacts, in all: [EntityFacts]
  ) -> [EntityFacts.Relationship] {
    let inherited = all.first { $0.name == facts.superentity }?.relationships.map(\.name) ?? []
    return facts.relationships.filter { !inherited.contains($0.name) }
  }

  private static func box(
    _ entity: BrowsedEntity, _ relationships: [EntityFacts.Relationship], in all: [EntityFacts]
  ) -> Box {
    func shown(_ text: String, _ width: Int) -> String {
      DisplayWidth.fitted(QuotedText.escaped(text), to: width)
    }
    let facts = entity.facts
    let inherited = all.first { $0.name == facts.superentity }?.attributes.map(\.name) ?? []
    let attributes = facts.attributes.filter { !inherited.contains($0.name) }
    var box = Box(
      title: shown(facts.name, 24), note: HumanText.count(entity.rowCount),
      isAbstract: facts.isAbstract)
    box.rows =
      relationships.prefix(relationshipLimit).map {
        Row(name: shown($0.name, 24), detail: shown($0.leadText, 20), isRelationship: true)
      }
      + attributes.prefix(attributeLimit).map {
        Row(name: shown($0.name, 24), detail: shown($0.typeText, 20))
      }
    box.hiddenCount =
      max(0, attributes.count - attributeLimit) + max(0, relationships.count - relationshipLimit)
    return box
  }

  private func row(of relationship: String, _ box: Int) -> Int? {
    boxes[box].rows.firstIndex {
      $0.isRelationship && $0.name == DisplayWidth.fitted(QuotedText.escaped(relationship), to: 24)
    }
  }

  private static func mark(_ relationship: EntityFacts.Relationship) -> End.Mark {
    relationship.isToMany ? .many : .one
  }
}
