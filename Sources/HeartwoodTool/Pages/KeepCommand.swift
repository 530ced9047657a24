import HeartwoodEngine

/// The `keep` command, which retains a generation under a name.
enum KeepCommand {
  private struct Document: Encodable {
    let generation: UInt64
    let name: String
  }

  static func run(_ invocation: Invocation, _ output: Output) throws {
    let name = invocation.required(.name)
    let generation = try StoreAccess.withStore(invocation.path, for: .writing) { store in
      let generation = try StoreAccess.snapshot(of: store, invocation).generation
      try store.keep(generation, as: name)
      return generation
    }
    if invocation.wantsJSON {
      try output.json(Document(generation: generation.frame, name: name))
    } else {
      try output.line("Generation \(generation.frame) is now named \(QuotedText.quoted(name)).")
    }
  }
}
