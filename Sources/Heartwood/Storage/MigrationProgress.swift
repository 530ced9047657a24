/// The progress of a store's migration to another model.
public struct MigrationProgress: Sendable, Hashable {
  /// The kinds of work that a migration performs on rows.
  public enum Work: Sendable {
    /// The conversion of relationships to their new storage format.
    case relationships
    /// The computation of derived attributes.
    case derivedAttributes
    /// The creation of indexes.
    case indexes
  }

  /// The version of the model to which the store is being migrated.
  public let version: Int
  /// The kind of work that is in progress.
  public let work: Work
  /// The name of the entity whose rows are being processed.
  public let entityName: String
  /// The number of rows processed so far.
  ///
  /// For relationships, only rows that have related objects are counted.
  public let completedCount: Int
  /// The total number of the entity's rows.
  public let totalCount: Int
}

/// A counter of the rows that a migration has processed for one kind of work, which also reports
/// the progress.
struct ProgressCount {
  private let work: MigrationProgress.Work
  private let entityName: String
  private let version: Int
  private let total: Int
  private let report: ((MigrationProgress) -> Void)?
  private var completed = 0
  /// The last row that was counted.
  ///
  /// If several entries belong to this row, the row is counted only once.
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

  /// Counts the rows whose relationship entries have been processed, and reports the progress.
  ///
  /// - Parameter numbers: For each entry, the number of the row to which it belongs. The entries of
  ///   a row must be adjacent, so that the row is counted only once.
  mutating func add(from numbers: some Sequence<ObjectNumber>) {
    var count = 0
    for number in numbers where number != last {
      last = number
      count += 1
    }
    add(count)
  }

  /// Increases the count of processed rows by `count` and reports the progress.
  mutating func add(_ count: Int) {
    completed += count
    report?(
      MigrationProgress(
        version: version, work: work, entityName: entityName, completedCount: completed,
        totalCount: total))
  }
}
