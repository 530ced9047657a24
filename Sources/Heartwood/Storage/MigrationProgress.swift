/// The progress of a store's migration to another model.
public struct MigrationProgress: Sendable, Hashable {
  /// The kinds of work on rows.
  public enum Work: Sendable {
    /// Converting relationships to their new form.
    case relationships
    /// Computing derived attributes.
    case derivedAttributes
    /// Building indexes.
    case indexes
  }

  /// The version of the model that the store is migrated to.
  public let version: Int
  /// The current work.
  public let work: Work
  /// The entity whose rows are processed.
  public let entityName: String
  /// The number of rows, or of relationship entries, processed so far.
  public let completedCount: Int
  /// The number of rows; a to-many relationship may have more entries.
  public let totalCount: Int
}

/// Counts the processed rows of one piece of work, and reports the progress.
struct ProgressCount {
  private let work: MigrationProgress.Work
  private let entityName: String
  private let version: Int
  private let total: Int
  private let report: ((MigrationProgress) -> Void)?
  private var completed = 0
  /// The last counted row; more of its entries may follow.
  private var last: ObjectNumber?

  init(
    _ work: MigrationProgress.Work, _ storage: EntityStorage, _ step: MigrationStep
  ) throws {
    self.work = work
    entityName = storage.entity.name
    version = step.stored.version
    report = step.progress
    total = try step.objects(storage).count()
  }

  /// Counts the rows that some references belong to; the references come row by row.
  mutating func add(from numbers: some Sequence<ObjectNumber>) {
    var count = 0
    for number in numbers where number != last {
      last = number
      count += 1
    }
    add(count)
  }

  /// Counts processed rows.
  mutating func add(_ count: Int) {
    completed += count
    report?(
      MigrationProgress(
        version: version, work: work, entityName: entityName, completedCount: completed,
        totalCount: total))
  }
}
