import HeartwoodEngine

/// The `compact` command, which shrinks the page file as far as possible.
enum CompactCommand {
  private struct Document: Encodable {
    let pageCountBefore: Int
    let pageCount: Int
    let movedPageCount: Int
    let fileByteCountBefore: Int
    let fileByteCount: Int
    let blockingGeneration: UInt64?
  }

  static func run(_ invocation: Invocation, _ output: Output) throws {
    let progress = TerminalProgress()
    let result = try StoreAccess.withStore(invocation.path, for: .writing) { store in
      try store.compact { progress.show("compacting", $0) }
    }
    progress.clear()
    if invocation.wantsJSON {
      try output.json(
        Document(
          pageCountBefore: result.pageCountBefore, pageCount: result.pageCount,
          movedPageCount: result.movedPageCount, fileByteCountBefore: result.fileByteCountBefore,
          fileByteCount: result.fileByteCount, blockingGeneration: result.blockingGeneration?.frame)
      )
    } else {
      try output.line(text(result))
    }
  }

  private static func text(_ result: CompactionResult) -> String {
    var table = TextTable(["": .left, "before": .right, "after": .right])
    table.append([
      "pages", HumanText.count(result.pageCountBefore), HumanText.count(result.pageCount),
    ])
    table.append([
      "page file", HumanText.size(result.fileByteCountBefore), HumanText.size(result.fileByteCount),
    ])
    var lines = [table.text(), "", "\(HumanText.count(result.movedPageCount, "page")) moved"]
    if let generation = result.blockingGeneration {
      lines.append(
        "The file cannot be shortened further while \(generation) is held. Release this "
          + "generation, and then run a checkpoint.")
    }
    return lines.joined(separator: "\n")
  }
}
