import Foundation
import Heartwood
import HeartwoodEngine

/// The `browse` command, which writes the objects of one generation as an HTML page.
enum BrowseCommand {
  /// The maximum number of rows for each entity if `--limit` is not given.
  static let defaultLimit = 10_000

  static func run(_ invocation: Invocation, _ output: Output) throws {
    let path = invocation[.html] ?? ""
    try ObjectAccess.withObjects(invocation) { objects, store in
      let page = try BrowsePage(
        of: objects, store, invocation.path, limit: invocation.limit ?? defaultLimit)
      let byteCount = try ReplacementFile.write(to: path, outside: invocation.path) {
        try page.write(to: $0)
      }
      let (included, total) = (page.includedRowCount, page.rowCount)
      let rows =
        included == total
        ? HumanText.count(total, "row")
        : "\(HumanText.count(included)) of \(HumanText.count(total, "row"))"
      try output.line(
        "\(HumanText.count(page.entities.count, "entity")), \(rows), "
          + "\(HumanText.count(byteCount, "byte")): \(QuotedText.escaped(path))")
      // Flush the output now, because buffered output would be lost if closing the store failed.
      try output.flush()
    }
  }
}
