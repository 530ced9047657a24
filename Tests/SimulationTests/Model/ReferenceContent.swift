import HeartwoodEngine
import HeartwoodTestSupport

/// The expected contents of one keyspace: its sorted keys, and a value for each key.
///
/// Copies share their storage until one of them is changed, so a complete history fits in memory.
struct ReferenceRows {
  private(set) var keys: [Key] = []
  private(set) var values: [[UInt8]] = []

  var count: Int { keys.count }

  /// Returns the position of the first key that is not less than `key`.
  func position(of key: Key) -> Int {
    var (lower, upper) = (0, keys.count)
    while lower < upper {
      let middle = (lower + upper) / 2
      if keys[middle] < key { lower = middle + 1 } else { upper = middle }
    }
    return lower
  }

  /// Returns the positions of the keys from `lower` up to `upper`, or an empty range if `upper` is
  /// before `lower`.
  func positions(from lower: Key?, upTo upper: Key?) -> Range<Int> {
    let first = lower.map { position(of: $0) } ?? 0
    let end = upper.map { position(of: $0) } ?? count
    return first..<max(first, end)
  }

  subscript(key: Key) -> [UInt8]? {
    get {
      let position = position(of: key)
      return position < count && keys[position] == key ? values[position] : nil
    }
    set {
      let position = position(of: key)
      let isThere = position < count && keys[position] == key
      switch (newValue, isThere) {
      case (nil, false): break
      case (nil, true):
        keys.remove(at: position)
        values.remove(at: position)
      case (let value?, true): values[position] = value
      case (let value?, false):
        keys.insert(key, at: position)
        values.insert(value, at: position)
      }
    }
  }

  /// Returns whether both values share their storage and are therefore equal.
  func isCopy(of other: ReferenceRows) -> Bool {
    func start<Element>(_ array: [Element]) -> UnsafePointer<Element>? {
      array.withUnsafeBufferPointer { $0.baseAddress }
    }
    return count == other.count && start(keys) == start(other.keys)
      && start(values) == start(other.values)
  }
}

/// The expected contents of a store after one of its commits.
struct ReferenceContent {
  private(set) var keyspaces: [String: ReferenceRows] = [:]
  /// The number of the transaction that created these contents.
  var number = 0

  /// The names of the keyspaces, ordered by their bytes as in a store.
  var names: [String] { keyspaces.keys.sorted { Key($0) < Key($1) } }

  var entryCount: Int { keyspaces.values.reduce(0) { $0 + $1.count } }

  func rows(_ name: String) -> ReferenceRows { keyspaces[name] ?? ReferenceRows() }

  subscript(name: String, key: Key) -> [UInt8]? {
    get { keyspaces[name]?[key] }
    set { keyspaces[name, default: ReferenceRows()][key] = newValue }
  }

  mutating func make(_ name: String) { keyspaces[name, default: ReferenceRows()] = rows(name) }

  mutating func remove(_ name: String) { keyspaces[name] = nil }

  /// Returns the changes from these contents to `target`, in the order in which stores report them.
  func changes(to target: ReferenceContent) -> [StoreChange] {
    var changes: [StoreChange] = []
    for name in Set(names).union(target.names).sorted(by: { Key($0) < Key($1) }) {
      let (old, new) = (rows(name), target.rows(name))
      if old.isCopy(of: new) { continue }
      var (left, right) = (0, 0)
      while left < old.count || right < new.count {
        let kind: StoreChange.Kind?
        let key: Key
        if right == new.count || left < old.count && old.keys[left] < new.keys[right] {
          (key, kind) = (old.keys[left], .deleted)
          left += 1
        } else if left == old.count || new.keys[right] < old.keys[left] {
          (key, kind) = (new.keys[right], .inserted)
          right += 1
        } else {
          key = old.keys[left]
          kind = old.values[left].holds(new.values[right]) ? nil : .updated
          left += 1
          right += 1
        }
        if let kind { changes.append(StoreChange(keyspace: name, key: key.bytes, kind: kind)) }
      }
    }
    return changes
  }
}

extension [UInt8] {
  /// Returns whether both arrays contain the same bytes.
  ///
  /// The comparison is fast even in a debug build.
  func holds(_ other: [UInt8]) -> Bool {
    withBytes { bytes in other.withBytes { bytes.equals($0) } }
  }

  /// Returns whether the span contains the same bytes as the array.
  func holds(_ other: RawSpan) -> Bool {
    withBytes { bytes in other.withBytes { bytes.equals($0) } }
  }
}

/// An error that describes a difference between a store and its expected contents.
struct ModelMismatch: Error, CustomStringConvertible {
  let description: String

  /// Throws a mismatch with the description `what` unless the condition holds.
  static func unless(_ condition: Bool, _ what: @autoclosure () -> String) throws(ModelMismatch) {
    if !condition { throw ModelMismatch(description: what()) }
  }
}
