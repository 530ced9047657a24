import Foundation
import Heartwood
import HeartwoodEngine

/// The `object` command, which shows an object, its related objects and its versions.
enum ObjectCommand {
  private struct Document: Encodable {
    let id: String
    let uri: String
    let generation: UInt64
    let values: [String: ObjectValue]?
    let versions: [Version]
  }

  private struct Version: Encodable {
    let time: String
    let generation: UInt64?
    let transaction: String
    let author: String?
    let values: [String: ObjectValue]?
  }

  /// The maximum number of members to show for each to-many relationship.
  private static let memberLimit = 20

  static func run(_ invocation: Invocation, _ output: Output) throws {
    try ObjectAccess.withObjects(invocation) { objects, _ in
      let id = try ObjectAccess.id(invocation.required(.id), of: objects)
      let values = try objects.values(of: id)
      let versions = try objects.versions(of: id)
      guard values != nil || !versions.isEmpty else {
        throw ToolFailure.refused(
          "There is no object \(id.shortText) in \(objects.snapshot.generation) or in the history. "
            + "Run 'heartwoodctl query \(invocation.path) \(id.entityName ?? "ENTITY")' to list "
            + "the existing objects.")
      }
      if invocation.wantsJSON {
        try output.json(
          Document(
            id: id.shortText, uri: id.description, generation: objects.snapshot.generation.frame,
            values: values.map { Dictionary($0.map { ($0.name, $0.value) }) { $1 } },
            versions: versions.map { version(of: $0, id, objects) }))
      } else {
        try write(id, values, versions, objects, output)
      }
      try output.flush()
    }
  }

  private static func version(
    of version: ObjectVersion, _ id: ManagedObjectID, _ objects: StoredObjects
  ) -> Version {
    Version(
      time: TimeText.text(version.date),
      generation: objects.generationNumber(of: version), transaction: word(for: version),
      author: version.author, values: objects.values(of: version, id))
  }

  private static func word(for version: ObjectVersion) -> String {
    switch version.change {
    case .insert?: "inserted"
    case .update(let properties)?: "changed \(properties.sorted().joined(separator: ", "))"
    case .delete?: "deleted"
    case nil: version.isDeleted ? "deleted" : "present"
    }
  }

  // MARK: Text output

  private static func write(
    _ id: ManagedObjectID, _ values: [(name: String, value: ObjectValue)]?,
    _ versions: [ObjectVersion], _ objects: StoredObjects, _ output: Output
  ) throws {
    try output.line("\(QuotedText.escaped(id.shortText))  \(QuotedText.escaped(id.description))")
    if let values {
      var table = TextTable(untitled: [.left, .left])
      for (name, value) in values {
        table.append([QuotedText.escaped(name), text(of: value, width: output.width - 4)])
      }
      try output.line(table.text(indent: 2))
    } else {
      try output.line("  not in \(objects.snapshot.generation)")
    }
    try output.line("\nversions")
    var table = TextTable(untitled: [.left, .left, .left])
    for version in versions {
      table.append([
        TimeText.text(version.date),
        QuotedText.escaped(version.author ?? "-"), QuotedText.escaped(word(for: version)),
      ])
    }
    try output.line(versions.isEmpty ? "  none" : table.text(indent: 2))
  }

  private static func text(of value: ObjectValue, width: Int) -> String {
    guard case .objects(let ids) = value else { return CellText(value).fitted(to: width) }
    guard !ids.isEmpty else { return "none" }
    let shown = ids.prefix(memberLimit).map { QuotedText.escaped($0.shortText) }
    let rest = ids.count - shown.count
    return shown.joined(separator: " ") + (rest > 0 ? " and \(HumanText.count(rest)) more" : "")
  }
}
