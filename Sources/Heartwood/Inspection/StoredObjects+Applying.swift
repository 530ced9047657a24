package import Foundation

extension StoredObjects {
  /// The result of applying events.
  package struct FeedReport {
    package var appliedCount = 0
    /// The number of events that had been applied before.
    package var repeatedCount = 0
    /// The last transaction whose changes have all been applied, or `nil` if there is none.
    package var lastTransaction: Int64?

    package init() {}

    package static func += (total: inout FeedReport, part: FeedReport) {
      total.appliedCount += part.appliedCount
      total.repeatedCount += part.repeatedCount
      total.lastTransaction = part.lastTransaction ?? total.lastTransaction
    }
  }

  /// Applies events of another store in one transaction, except those that have been applied
  /// before.
  ///
  /// The store remembers which of its objects correspond to those of the other store. An object
  /// that is not known yet is found by a unique attribute, or inserted. Of several events about an
  /// object, only the last one counts.
  ///
  /// - Parameter lines: The events, each as JSON.
  /// - Throws: `invalidElement` if an event cannot be decoded; `constraintConflict`,
  ///   `deniedDelete`, `unknownEntity` or `validation` if it violates the model; errors of writing.
  ///   Nothing is changed then.
  package func applyEvents(_ lines: [Data], author: String?) throws -> FeedReport {
    let decoder = JSONDecoder()
    decoder.dateDecodingStrategy = ExactDates.decoding
    decoder.nonConformingFloatDecodingStrategy = JSONCoding.decodedFloats
    decoder.userInfo[FeedPlans.key] = FeedPlans(model.schema)
    let elements = try lines.enumerated().map { position, line in
      do { return try decoder.decode(FeedElement.self, from: line) } catch {
        throw ImportReport.invalid(position, error)
      }
    }
    var report = FeedReport()
    let context = container.newContext()
    context.transactionAuthor = author
    _ = try context.write { transaction in
      let request = StoredEdit(phrase: "applied events") { _ in }
      var batch = try FeedBatch(BatchRun(context, transaction, request), transaction)
      report = try batch.apply(elements)
    }
    return report
  }
}
