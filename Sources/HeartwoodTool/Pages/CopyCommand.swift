import Foundation
import HeartwoodEngine

/// The `copy` command, which copies one generation into a new store.
enum CopyCommand {
  private struct Document: Encodable {
    let generation: UInt64
    let target: String
    let pageCount: Int
  }

  static func run(_ invocation: Invocation, _ output: Output) throws {
    let target = invocation.required(.copy)
    guard !isDirectory(target, within: invocation.path) else {
      throw ToolFailure.refused(
        "\(target) is inside the store's directory, which must contain only the store's own files. "
          + "Use a path outside that directory.")
    }
    let progress = TerminalProgress()
    let document = try StoreAccess.withStore(invocation.path, for: .reading) { store in
      let snapshot = try StoreAccess.snapshot(of: store, invocation)
      var pageCount = 0
      try store.copy(snapshot, to: target) { done in
        pageCount = done.totalPageCount
        progress.show("copying", done)
      }
      return Document(
        generation: snapshot.generation.frame, target: target, pageCount: pageCount)
    }
    progress.clear()
    if invocation.wantsJSON {
      try output.json(document)
    } else {
      try output.line(
        "Copied generation \(document.generation), \(HumanText.count(document.pageCount, "page")), "
          + "to the new store \(QuotedText.escaped(target)).")
    }
  }

  /// Returns whether `path` is inside the existing directory `directory` after symbolic links have
  /// been resolved.
  ///
  /// `path` itself need not exist.
  static func isDirectory(_ path: String, within directory: String) -> Bool {
    let parent = URL(fileURLWithPath: path).deletingLastPathComponent().resolvingSymlinksInPath()
    let store = URL(fileURLWithPath: directory).resolvingSymlinksInPath()
    return parent.pathComponents.starts(with: store.pathComponents)
  }
}
