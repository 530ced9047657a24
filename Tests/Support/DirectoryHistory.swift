/// The object that a name in a simulated directory refers to.
enum DirectoryEntry: Hashable {
  /// The file with the given number.
  case file(Int)
  case directory
}

/// A change to the names in a directory.
enum NameChange {
  case create(String, DirectoryEntry)
  case remove(String, DirectoryEntry)
  case rename(String, String, DirectoryEntry)

  /// Applies the change to `names`.
  ///
  /// - Returns: `false` if the change is impossible; `names` is then unchanged.
  func apply(to names: inout [String: DirectoryEntry]) -> Bool {
    switch self {
    case .create(let name, let entry):
      guard names[name] == nil else { return false }
      names[name] = entry
    case .remove(let name, let entry):
      guard names[name] == entry else { return false }
      names[name] = nil
    case .rename(let source, let target, let entry):
      guard names[source] == entry else { return false }
      names[source] = nil
      names[target] = entry
    }
    return true
  }

  /// Returns whether the change concerns `name`.
  func touches(_ name: String) -> Bool {
    switch self {
    case .create(name, _), .remove(name, _), .rename(name, _, _), .rename(_, name, _): true
    default: false
    }
  }

  /// The file or directory that is created, removed or renamed.
  var entry: DirectoryEntry {
    switch self {
    case .create(_, let entry), .remove(_, let entry), .rename(_, _, let entry): entry
    }
  }
}

/// The names in a directory, both on disk and in memory, and the changes between these two states.
struct DirectoryHistory {
  private(set) var durable: [String: DirectoryEntry] = [:]
  private(set) var newest: [String: DirectoryEntry] = [:]
  private(set) var changes: [NameChange] = []

  init() {}

  /// Creates a directory with the given names and no unsynced changes.
  init(_ names: [String: DirectoryEntry]) {
    durable = names
    newest = names
  }

  mutating func make(_ change: NameChange) {
    guard change.apply(to: &newest) else { return }
    changes.append(change)
  }

  mutating func sync() {
    durable = newest
    changes = []
  }

  func isDurable(_ name: String) -> Bool {
    newest[name] != nil && durable[name] == newest[name] && !changes.contains { $0.touches(name) }
  }

  /// Returns the names after a crash that keeps only those changes for which `keeps` returns
  /// `true`.
  ///
  /// The argument of `keeps` is the index of a change. A kept change is skipped if it is no longer
  /// possible, for example because the file that it renames was never created.
  func kept(_ keeps: (Int) -> Bool) -> [String: DirectoryEntry] {
    var names = durable
    for (index, change) in changes.enumerated() where keeps(index) {
      _ = change.apply(to: &names)
    }
    return names
  }

  /// Every file or directory that has a name in memory or on disk, or is affected by an unsynced
  /// change.
  var entries: [DirectoryEntry] {
    Array(durable.values) + Array(newest.values) + changes.map(\.entry)
  }
}
