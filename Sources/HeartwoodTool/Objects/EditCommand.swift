import Heartwood

/// The `set` and `delete` commands, which change objects while enforcing the model's rules.
enum EditCommand {
  private struct Document: Encodable {
    let isCommitted: Bool
    let changes: [ObjectDifference]
  }

  static func run(_ invocation: Invocation, _ output: Output) throws {
    let commits = invocation.has(.yes)
    let author = invocation[.author] ?? ObjectAccess.author
    let changes = try ObjectAccess.withWritableObjects(invocation) { objects in
      let id = try ObjectAccess.id(invocation.required(.id), of: objects)
      return invocation.command == .delete
        ? try objects.delete(id, author: author, commits: commits)
        : try objects.set(
          invocation.assignments.map(assignment), of: id, author: author, commits: commits)
    }
    if invocation.wantsJSON {
      return try output.json(Document(isCommitted: commits, changes: changes))
    }
    for change in changes { try output.write(DifferenceText.of(change)) }
    let count = HumanText.count(changes.count, "object")
    try output.line(
      changes.isEmpty
        ? "nothing changes"
        : commits ? "\(count) changed" : "\(count) would change; use --yes to make the change")
  }

  private static func assignment(_ text: String) -> (name: String, text: String?) {
    guard let sign = text.firstIndex(of: "=") else { return (text, nil) }
    return (String(text[..<sign]), String(text[text.index(after: sign)...]))
  }
}
