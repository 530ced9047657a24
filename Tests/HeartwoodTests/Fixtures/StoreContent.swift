import Foundation
import Heartwood
import HeartwoodTestSupport

/// Descriptions of a store's content that are equal for two stores if a program sees no difference
/// between them.
extension GraphFixture {
  /// Returns all entries of all keyspaces except the model and the history, which contain times
  /// and random numbers.
  func storedEntries() throws -> [String: [[UInt8]]] {
    let snapshot = try container.store.snapshot()
    var result: [String: [[UInt8]]] = [:]
    for name in try snapshot.keyspaceNames
    where !["heartwood.history", "heartwood.model"].contains(name) {
      try snapshot.keyspace(name)?.forEach { key, value in
        // The version of a row depends on how many pages earlier transactions have written.
        let versionCount = name.hasPrefix("objects.") ? 8 : 0
        result[name, default: []] += [
          key.withUnsafeBytes { Array($0) },
          value.withUnsafeBytes { Array($0.dropFirst(versionCount)) },
        ]
        return true
      }
    }
    return result
  }

  /// Returns a description of each change in the history, sorted within each transaction.
  func recordedChanges() throws -> [String] {
    try container.fetchHistory(after: nil).flatMap { transaction in
      transaction.changes.map { "\($0.objectID.name) \(words($0.kind))" }.sorted()
    }
  }

  private func words(_ kind: PersistentHistoryChange.Kind) -> String {
    if case .update(let properties) = kind { return "update \(properties.sorted())" }
    return "\(kind)"
  }
}

extension ManagedObjectID {
  /// The entity and the row of the ID, without the random ID of the store.
  var name: String { uriRepresentation.pathComponents.suffix(2).joined(separator: "/") }
}
