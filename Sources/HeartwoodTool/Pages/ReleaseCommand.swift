import HeartwoodEngine

/// The `release` command, which releases a named generation.
enum ReleaseCommand {
  private struct Document: Encodable {
    let generation: UInt64
    let name: String
  }

  static func run(_ invocation: Invocation, _ output: Output) throws {
    let name = invocation.required(.name)
    let generation = try StoreAccess.withStore(invocation.path, for: .writing) { store in
      let named = try store.namedGenerations()
      // Report a name that is not in use, because the user has probably mistyped it. `release`
      // would ignore an unknown name.
      guard let generation = named[name] else {
        throw StoreAccess.noSuchName(name, among: named.keys.sorted(), invocation.path)
      }
      try store.release(name)
      return generation
    }
    if invocation.wantsJSON {
      try output.json(Document(generation: generation.frame, name: name))
    } else {
      try output.line(
        "Generation \(generation.frame) is no longer named \(QuotedText.quoted(name)).")
    }
  }
}
