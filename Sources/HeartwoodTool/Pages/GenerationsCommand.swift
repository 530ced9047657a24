import HeartwoodEngine

/// The `generations` command, which shows the held generations with their holders, ages and costs.
enum GenerationsCommand {
  private struct Document: Encodable {
    let newestGeneration: UInt64
    let checkpointedGeneration: UInt64
    let logAllocatedByteCount: Int
    let held: [Held]
  }

  private struct Held: Encodable {
    let generation: UInt64
    let ageMilliseconds: Int64
    let retainedByteCount: Int
    let names: [String]
    let holders: [HolderText]
    /// A Boolean value that indicates whether the generation's holder is unknown, because it is
    /// neither a name nor a listed process.
    ///
    /// Only the text output shows this value.
    let isHeldByUnknown: Bool

    private enum CodingKeys: CodingKey {
      case generation, ageMilliseconds, retainedByteCount, names, holders
    }
  }

  static func run(_ invocation: Invocation, _ output: Output) throws {
    let document = try StoreAccess.withStore(invocation.path, for: .reading) { store in
      let held = try store.liveGenerations().map { live in
        Held(
          generation: live.generation.frame, ageMilliseconds: JSONText.milliseconds(live.age),
          retainedByteCount: live.retainedByteCount, names: live.names,
          holders: live.holders.map(HolderText.init),
          isHeldByUnknown: live.holders.isEmpty && live.names.isEmpty)
      }
      let statistics = store.statistics
      return Document(
        newestGeneration: statistics.newestGeneration.frame,
        checkpointedGeneration: statistics.checkpointedGeneration.frame,
        logAllocatedByteCount: statistics.logByteCount, held: held)
    }
    if invocation.wantsJSON { return try output.json(document) }
    if document.held.isEmpty {
      try output.line("No generation is held.")
    } else {
      try output.line(table(document.held).text())
    }
    try output.line()
    try output.line(
      "newest: generation \(document.newestGeneration); in the page file: generation "
        + "\(document.checkpointedGeneration); log: "
        + "\(HumanText.size(document.logAllocatedByteCount)) on disk")
  }

  private static func table(_ held: [Held]) -> TextTable {
    var table = TextTable([
      "generation": .right, "age": .right, "cost": .right, "names": .left, "holders": .left,
    ])
    for generation in held {
      let age = Duration.milliseconds(generation.ageMilliseconds)
      table.append([
        "\(generation.generation)", HumanText.age(age),
        HumanText.size(generation.retainedByteCount),
        cell(generation.names.map(QuotedText.quoted)),
        generation.isHeldByUnknown
          ? "another process" : cell(generation.holders.map(\.text)),
      ])
    }
    return table
  }

  private static func cell(_ words: [String]) -> String {
    words.isEmpty ? "-" : words.joined(separator: ", ")
  }
}
