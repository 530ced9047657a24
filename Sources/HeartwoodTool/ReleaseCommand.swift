import HeartwoodEngine

/// `release`: ends the keeping of a generation.
enum ReleaseCommand {
  private struct Document: Encodable {
    let generation: UInt64
    let name: String
  }

  static func run(_ invocation: Invocation, _ output: Output) throws {
    let name = invocation.neededWord
    let generation = try StoreAccess.withStore(invocation.path, for: .writing) { store in
      let kept = try store.keptGenerations()
      // To the engine this is no error, but a person has mistyped.
      guard let generation = kept[name] else {
        throw StoreAccess.noneKept(name, among: kept.keys.sorted(), invocation.path)
      }
      try store.release(name)
      return generation
    }
    if invocation.wantsJSON {
      try output.json(Document(generation: generation.frame, name: name))
    } else {
      try output.line(
        "Generation \(generation.frame) is not kept as \(QuotedText.quoted(name)) any more.")
    }
  }
}
