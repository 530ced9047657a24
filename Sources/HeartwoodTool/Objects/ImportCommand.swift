import Foundation
import Heartwood

/// The `import` command, which inserts and updates objects from JSON or CSV.
enum ImportCommand {
  private struct Document: Encodable {
    struct Refusal: Encodable {
      let path: String
      let reason: String
    }

    let insertedCount: Int
    let updatedCount: Int
    let unchangedCount: Int
    let refusedCount: Int
    let refusals: [Refusal]
    let ignoredKeys: [String]

    init(_ report: ImportReport) {
      insertedCount = report.insertedCount
      updatedCount = report.updatedCount
      unchangedCount = report.unchangedCount
      refusedCount = report.refusedCount
      ignoredKeys = report.ignoredKeys.sorted()
      refusals = report.refusals.map { Refusal(path: $0.path, reason: Self.reason($0.error)) }
    }

    private static func reason(_ error: any Error) -> String {
      switch error as? DecodingError {
      case .typeMismatch(_, let context)?, .valueNotFound(_, let context)?,
        .keyNotFound(_, let context)?, .dataCorrupted(let context)?:
        context.debugDescription
      default: (error as? ObjectGraphError)?.message ?? "\(error)"
      }
    }
  }

  private static let chunkByteCount = 64 << 10

  static func run(_ invocation: Invocation, _ output: Output) throws -> ExitCode {
    let source: StoredObjects.ImportSource =
      try TextFormat(invocation) == .csv ? .csv : .json
    let skipsInvalid = invocation.has(.skipInvalid)
    let input = try InputFile.handle(invocation.required(.file))
    let handle = skipsInvalid ? try InputFile.rewindable(input) : input
    let start = skipsInvalid ? try handle.offset() : 0
    let progress = TerminalProgress()
    let report = try ObjectAccess.withWritableObjects(invocation) { objects in
      let entity = try ObjectAccess.entity(invocation.required(.entity), of: objects, invocation)
      return try objects.importElements(
        source, of: entity.name, matching: invocation[.key],
        author: invocation[.author] ?? ObjectAccess.author,
        skipsInvalid: skipsInvalid,
        progress: { progress.show("importing", elementCount: $0) },
        rewind: { try handle.seek(toOffset: start) }
      ) {
        [UInt8](try handle.read(upToCount: chunkByteCount) ?? Data())
      }
    }
    progress.clear()
    output.exitCodeIfClosed = report.refusedCount == 0 ? .fine : .refused
    let document = Document(report)
    if invocation.wantsJSON {
      try output.json(document)
    } else {
      try output.line(
        "\(HumanText.count(report.insertedCount)) inserted, "
          + "\(HumanText.count(report.updatedCount)) updated, "
          + "\(HumanText.count(report.unchangedCount)) unchanged, "
          + "\(HumanText.count(report.refusedCount)) refused")
      for refusal in document.refusals {
        try output.line(QuotedText.escaped("  \(refusal.path): \(refusal.reason)"))
      }
      if !document.ignoredKeys.isEmpty {
        let names = document.ignoredKeys.joined(separator: ", ")
        try output.line(
          QuotedText.escaped("ignored keys that are not properties of the entity: \(names)"))
      }
    }
    return output.exitCodeIfClosed
  }
}
