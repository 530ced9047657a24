import Foundation
import Heartwood

/// The `quakes undo` command, which reverts the last import.
struct UndoCommand: Command {
  static let name = "undo"
  static let summary = "undo the last import"
  static let help = """
    quakes undo: \(summary).

    Usage: quakes undo [options]
    Example: quakes undo

    The command removes the quakes that the import added, and restores the quakes
    that the import changed. The command fails if quakes have since been changed in
    another way. To undo the previous import, run the command again. To list the
    kept states, run 'quakes at'.
    """

  /// The author that the history records for the changes made by an undo.
  private static let author = "undo"

  init(_ arguments: inout Arguments) {}

  func run(in store: QuakeStore) throws {
    let container = try store.openForChanging()
    let past = try Past(of: container)
    guard let step = past.undoable else {
      throw CommandError.failure(
        past.states.isEmpty
          ? "There is no import to undo. Run 'quakes import FILE' first."
          : "There are no more imports to undo, because no older state is kept. Run 'quakes at' to "
            + "list all states."
      )
    }
    let changes = try revert(step, in: container)
    // Do not release older states here, so that earlier imports can also be undone. The next import
    // releases the states that are no longer needed.
    try past.keep(changes.generation, madeBy: .undo)
    let count = try container.read(at: changes.generation) {
      try $0.count(for: FetchRequest<Quake>())
    }
    let (gone, changed) = (changes.deleted.count, changes.updated.count)
    print(
      "Undid the import of \(step.imported.time): \(gone.quakes) removed, "
        + "\(changed.grouped) restored; \(count.grouped) left")
    try container.store.close()
  }

  private func revert(
    _ step: Past.Undoable, in container: PersistentContainer
  ) throws -> ChangeSet {
    do {
      return try container.revert(
        to: step.previous.kept.token, unlessChangedSince: step.last.kept.token, author: Self.author)
    } catch let error as ObjectGraphError where error.kind == .mergeConflict {
      let time = step.last.time
      let changes = try container.changes(from: step.last.kept.token, to: .current)
      let count = changes.inserted.count + changes.updated.count + changes.deleted.count
      let have = count == 1 ? "has" : "have"
      throw CommandError.failure(
        "\(count.quakes) \(have) changed since the import of \(step.imported.time), so the import "
          + "was not undone. Run 'quakes diff \(time)' to see the changes.")
    }
  }
}
