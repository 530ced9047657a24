import Foundation

/// A reader that finds the versions of an object between two generations.
///
/// The base of a transaction is the number of its first frame. The base is greater than every
/// earlier generation, but not greater than the generation created by the transaction. Therefore,
/// the newest transaction in a generation is the last transaction whose base does not exceed the
/// generation.
struct VersionReader {
  /// A version of the object, identified by the base of the transaction that wrote it.
  ///
  /// `transaction` and `change` are `nil` if the history does not contain the transaction.
  private struct Step {
    let base: UInt64
    var transaction: PersistentHistoryTransaction?
    var change: PersistentHistoryChange.Kind?
  }

  /// The state of the object in a generation.
  private struct State {
    let snapshot: Snapshot
    let row: (version: UInt64, values: [StoredValue])?

    var generation: UInt64 { snapshot.generation.frame }
  }

  private let number: ObjectNumber
  private let storage: EntityStorage
  private let states: [State]
  private let steps: [Step]

  /// Creates a reader that finds the versions of an object.
  ///
  /// - Parameters:
  ///   - snapshots: The generations to inspect, from the oldest to the newest.
  ///   - history: The transactions that are still in the history.
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

  /// Returns the versions recorded in the history and those that can be found only by comparing
  /// generations.
  private static func steps(_ states: [State], _ known: [Step]) -> [Step] {
    guard let first = states.first, let last = states.last else { return [] }
    var steps = known.filter { first.generation < $0.base && $0.base <= last.generation }
    if let row = first.row {
      // Use the last known transaction that is not after the first generation, even if it is newer
      // than `row.version`. A newer transaction may have recomputed derived attributes without
      // changing the row's version.
      let last = known.last { row.version <= $0.base && $0.base <= first.generation }
      steps.append(last ?? Step(base: min(row.version, first.generation)))
    }
    for (before, after) in zip(states, states.dropFirst()) {
      let isSame =
        before.row?.version == after.row?.version
        && (before.row?.values ?? []).isIdentical(to: after.row?.values ?? [])
      let between = before.generation + 1...after.generation
      let version = after.row?.version ?? 0
      // Check whether the history records the change. A change is missing if it was made by a
      // program that opened the store without history tracking.
      let isKnown = known.contains { between.contains($0.base) && version <= $0.base }
      guard !isSame, !isKnown else { continue }
      steps.append(Step(base: between.contains(version) ? version : after.generation))
    }
    return steps.sorted { $0.base < $1.base }
  }

  /// Returns the versions, from the oldest to the newest.
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
  /// The time of the commit according to the clock of the committing process.
  var date: Date { Date(timeIntervalSince1970: Double(state.point.time) / 1000) }
}
