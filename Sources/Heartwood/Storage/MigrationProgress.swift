/// How far a store has come on its way to another model.
public struct MigrationProgress: Sendable, Hashable {
  /// What is being done with rows.
  public enum Work: Sendable {
    /// Relationships become what they are in the new model.
    case relationships
    /// Derived attributes are computed.
    case derivedAttributes
    /// Entries of indexes are made.
    case indexes
  }

  /// The version of the model that the store is brought up to.
  public let version: Int
  /// What is being done.
  public let work: Work
  /// The entity whose rows are gone through.
  public let entityName: String
  /// How many of its rows that has been done for, or of the entries of a relationship.
  public let completedCount: Int
  /// How many rows it has; a to-many relationship may have more entries.
  public let totalCount: Int
}

/// Counts the rows of one piece of work, and tells of it.
struct ProgressCount {
  private let work: MigrationProgress.Work
  private let entityName: String
  private let version: Int
  private let total: Int
  private let report: ((MigrationProgress) -> Void)?
  private var completed = 0
  /// The row that was counted last, of which more may come.
  private var last: ObjectNumber?

  init(
    _ work: MigrationProgress.Work, _ storage: EntityStorage, _ step: ModelStep
  ) throws {
    self.work = work
    entityName = storage.entity.name
    version = step.stored.version
    report = step.progress
    total = try step.objects(storage).count()
  }

  /// Counts the rows that some references lead from, which come row by row.
  mutating func add(from numbers: some Sequence<ObjectNumber>) {
    var count = 0
    for number in numbers where number != last {
      last = number
      count += 1
    }
    add(count)
  }

  /// Counts rows for which the work was done.
  mutating func add(_ count: Int) {
    completed += count
    report?(
      MigrationProgress(
        version: version, work: work, entityName: entityName, completedCount: completed,
        totalCount: total))
  }
}
