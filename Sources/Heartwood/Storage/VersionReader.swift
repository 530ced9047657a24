import Foundation

/// Finds the versions of one object between two generations.
///
/// Each transaction has a base, which is above all generations before it and not above its own. So
/// a generation shows what the last transaction has left whose base is not above it.
struct VersionReader {
  /// A version: the base of the transaction that has left it, and that one, if it is known.
  private struct Step {
    let base: UInt64
    var transaction: PersistentHistoryTransaction?
    var change: PersistentHistoryChange.Kind?
  }

  /// What a generation shows.
  private struct State {
    let snapshot: Snapshot
    let row: (version: UInt64, values: [StoredValue])?

    var generation: UInt64 { snapshot.generation.frame }
  }

  private let number: ObjectNumber
  private let storage: EntityStorage
  private let states: [State]
  private let steps: [Step]

  /// - Parameters:
  ///   - snapshots: The generations to look at, the oldest first.
  ///   - history: What is left of it.
  init(
    _ id: ManagedObjectID, _ storage: EntityStorage, _ model: StoreModel, _ snapshots: [Snapshot],
    _ history: [PersistentHistoryTransaction]
  ) throws {
    number = id.number
    self.storage = storage
    states = try snapshots.map { snapshot in
      let row = try StoreView(snapshot, model).withRecord(id.number, storage) {
        (version: $0.version, values: try storage.values($0))
      }
      return State(snapshot: snapshot, row: row)
    }
    let known = history.compactMap { transaction -> Step? in
      guard let change = transaction.changes.last(where: { $0.objectID == id }) else { return nil }
      return Step(base: transaction.base, transaction: transaction, change: change.kind)
    }
    steps = Self.steps(states, known)
  }

  /// The steps the history knows, and those that only the generations show.
  private static func steps(_ states: [State], _ known: [Step]) -> [Step] {
    guard let first = states.first, let last = states.last else { return [] }
    var steps = known.filter { first.generation < $0.base && $0.base <= last.generation }
    if let row = first.row {
      // Later than its version, if that one has only written derived attributes.
      let last = known.last { row.version <= $0.base && $0.base <= first.generation }
      steps.append(last ?? Step(base: min(row.version, first.generation)))
    }
    for (before, after) in zip(states, states.dropFirst()) {
      let isSame =
        before.row?.version == after.row?.version
        && (before.row?.values ?? []).isIdentical(to: after.row?.values ?? [])
      let between = before.generation + 1...after.generation
      let version = after.row?.version ?? 0
      // Who has the history turned off leaves what it does not know.
      let isKnown = known.contains { between.contains($0.base) && version <= $0.base }
      guard !isSame, !isKnown else { continue }
      steps.append(Step(base: between.contains(version) ? version : after.generation))
    }
    return steps.sorted { $0.base < $1.base }
  }

  /// The versions, the oldest first.
  func versions() -> [ObjectVersion] {
    steps.indices.map { position in
      let step = steps[position]
      let end = position + 1 < steps.count ? steps[position + 1].base : .max
      let state = states.first { step.base <= $0.generation && $0.generation < end }
      return version(step, state)
    }
  }

  private func version(_ step: Step, _ state: State?) -> ObjectVersion {
    let values = state?.row.map { row in
      Dictionary(
        uniqueKeysWithValues: storage.entity.columns.map { ($0.name, row.values[$0.slot]) })
    }
    var isDeleted = state.map { $0.row == nil } ?? false
    if case .delete = step.change { isDeleted = true }
    return ObjectVersion(
      generation: state.map { QueryGenerationToken(generation: $0.snapshot.token) },
      date: step.transaction?.timestamp ?? state?.snapshot.date ?? .distantPast,
      isDeleted: isDeleted, values: values, historyToken: step.transaction?.token,
      change: step.change, author: step.transaction?.author,
      contextName: step.transaction?.contextName)
  }
}

extension Snapshot {
  /// When it was committed, by the clock of who did it.
  var date: Date { Date(timeIntervalSince1970: Double(state.point.time) / 1000) }
}
