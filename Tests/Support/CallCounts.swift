/// The number of calls of each kind to a file system and its files.
package struct CallCounts: Equatable, Sendable {
  package var opens = 0
  package var reads = 0
  package var bytesRead = 0
  package var writes = 0
  package var bytesWritten = 0
  package var syncs = 0
  package var directorySyncCount = 0
  package var maps = 0
  /// Calls that set, release or query a lock.
  package var locks = 0
  package var touches = 0
  /// Calls that read the time at which the names in a directory last changed.
  package var stamps = 0
  /// Calls that read the identity of the file with a given name.
  package var names = 0
  /// Calls that are not counted separately: length queries, directory listings, renames, removals
  /// and identity queries.
  package var others = 0

  package init() {}

  private typealias Count = WritableKeyPath<CallCounts, Int> & Sendable

  private static let all: [(name: String, count: any Count)] = [
    ("opens", \.opens), ("reads", \.reads), ("bytesRead", \.bytesRead), ("writes", \.writes),
    ("bytesWritten", \.bytesWritten), ("syncs", \.syncs), ("directorySyncs", \.directorySyncCount),
    ("maps", \.maps), ("locks", \.locks), ("touches", \.touches), ("stamps", \.stamps),
    ("names", \.names), ("others", \.others),
  ]

  package static func + (left: CallCounts, right: CallCounts) -> CallCounts {
    var result = left
    for (_, count) in all { result[keyPath: count] += right[keyPath: count] }
    return result
  }

  package static func - (left: CallCounts, right: CallCounts) -> CallCounts {
    var result = left
    for (_, count) in all { result[keyPath: count] -= right[keyPath: count] }
    return result
  }
}

extension CallCounts: CustomStringConvertible {
  /// The nonzero counts as text, each with its name.
  package var description: String {
    Self.all.filter { self[keyPath: $0.count] != 0 }
      .map { "\($0.name): \(self[keyPath: $0.count])" }.joined(separator: ", ")
  }
}
