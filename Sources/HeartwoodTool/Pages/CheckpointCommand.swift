import HeartwoodEngine

/// The `checkpoint` command, which moves pages from the log to the page file.
enum CheckpointCommand {
  private struct Document: Encodable {
    let checkpointedGeneration: UInt64
    let pageCount: Int
    let segmentCount: Int
    let reclaimedByteCount: Int
    let blockingGeneration: UInt64?
    let logAllocatedByteCount: Int
  }

  static func run(_ invocation: Invocation, _ output: Output) throws {
    let document = try StoreAccess.withStore(invocation.path, for: .writing) { store in
      let result = try store.checkpoint()
      return Document(
        checkpointedGeneration: result.checkpointedGeneration.frame, pageCount: result.pageCount,
        segmentCount: result.segmentCount, reclaimedByteCount: result.reclaimedByteCount,
        blockingGeneration: result.blockingGeneration?.frame,
        logAllocatedByteCount: store.statistics.logByteCount)
    }
    if invocation.wantsJSON {
      try output.json(document)
    } else {
      try output.line(text(document))
    }
  }

  private static func text(_ document: Document) -> String {
    var sentences = [
      "The page file contains generation \(document.checkpointedGeneration). The checkpoint moved "
        + "\(HumanText.count(document.pageCount, "page")) and deleted "
        + "\(HumanText.count(document.segmentCount, "log segment")). The log uses "
        + "\(HumanText.size(document.logAllocatedByteCount)) on disk."
    ]
    if document.reclaimedByteCount > 0 {
      sentences.append(
        "The remaining segments now use \(HumanText.size(document.reclaimedByteCount)) less on "
          + "disk.")
    }
    if let generation = document.blockingGeneration {
      sentences.append(
        "The checkpoint could not advance further, because generation \(generation) is held. Run "
          + "'heartwoodctl generations' to list its holders.")
    }
    return sentences.joined(separator: "\n")
  }
}
