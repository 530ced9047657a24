/// Models changes and saves of several contexts under a merge policy, in plain collections.
struct MergeReference {
  enum Policy: CaseIterable {
    case error, storeTrump, objectTrump, overwrite, rollback
  }

  struct Values: Equatable {
    var age = 0
    var nickname: String?
  }

  /// A property that a context can set.
  enum Dirty: Hashable {
    case age, nickname
  }

  struct Row: Equatable {
    var version: Int
    var values: Values
  }

  /// A person as one context sees it.
  struct Copy {
    var version: Int
    var base: Values
    var values: Values
    var dirty: Set<Dirty> = []
    var isDeleted = false
    var hasChanges: Bool { isDeleted || !dirty.isEmpty }
    /// The properties whose values differ from the values that were read.
    var edits: Set<Dirty> {
      dirty.filter { property in
        switch property {
        case .age: values.age != base.age
        case .nickname: values.nickname != base.nickname
        }
      }
    }
    var hasEdits: Bool { isDeleted || !edits.isEmpty }
  }

  /// The rows, by the number of the person; deleted rows are `nil`.
  var rows: [Row?]
  /// The people that each context has loaded, by number.
  var copies: [[Int: Copy]] = [[:], [:]]
  /// A Boolean value that indicates whether the last save included a person that the other context
  /// had changed or deleted.
  private(set) var isContested = false
  private var lastVersion = 0

  init(count: Int) { rows = Array(repeating: Row(version: 0, values: Values()), count: count) }

  /// Loads a person, unless the context has already loaded it.
  ///
  /// - Returns: `true` if the person exists in the context.
  mutating func load(_ person: Int, _ context: Int) -> Bool {
    if let copy = copies[context][person] { return !copy.isDeleted }
    guard let row = rows[person] else { return false }
    copies[context][person] = Copy(version: row.version, base: row.values, values: row.values)
    return true
  }

  mutating func set(_ person: Int, _ context: Int, _ dirty: Dirty, _ change: (inout Values) -> Void)
  {
    guard var copy = copies[context][person] else { return }
    copy.dirty.insert(dirty)
    change(&copy.values)
    copies[context][person] = copy
  }

  /// Returns whether a context has changed a person that the other context has deleted.
  func hasChangedMissing(_ context: Int) -> Bool {
    copies[context].contains { $0.value.hasChanges && rows[$0.key] == nil }
  }

  /// Discards the unsaved changes of a context.
  mutating func rollback(_ context: Int) {
    for (person, copy) in copies[context] {
      var copy = copy
      copy.values = copy.base
      copy.dirty = []
      copy.isDeleted = false
      copies[context][person] = copy
    }
  }

  /// Saves a context, or returns `false` if the save must throw.
  mutating func save(_ context: Int, _ policy: Policy) -> Bool {
    let changed = copies[context].filter(\.value.hasChanges)
    let edited = changed.filter(\.value.hasEdits)
    let hasConflicts = edited.contains { isConflict($0.key, $0.value) }
    if policy == .error, hasConflicts { return false }
    // Deleting a missing row is not a conflict, but it shows that another context changed the
    // store.
    isContested =
      hasConflicts || edited.contains { $0.value.isDeleted && rows[$0.key] == nil }
    guard !changed.isEmpty else { return true }
    lastVersion += 1
    for (person, copy) in edited { resolve(person, copy, context, policy) }
    for person in changed.keys { copies[context][person]?.dirty = [] }
    if isContested { for person in copies[context].keys { reload(person, context) } }
    return true
  }

  /// Rereads a row if another context has changed it.
  private mutating func reload(_ person: Int, _ context: Int) {
    let version = copies[context][person]?.version
    guard let row = rows[person] else { return copies[context][person] = nil }
    guard row.version != version else { return }
    copies[context][person] = Copy(version: row.version, base: row.values, values: row.values)
  }

  private func isConflict(_ person: Int, _ copy: Copy) -> Bool {
    // Deleting an object whose row is missing is not a conflict.
    guard let row = rows[person] else { return !copy.isDeleted }
    return row.version != copy.version
  }

  private mutating func resolve(_ person: Int, _ copy: Copy, _ context: Int, _ policy: Policy) {
    let mineWins = policy == .objectTrump || policy == .overwrite
    guard isConflict(person, copy), policy != .error else {
      if copy.isDeleted { return drop(person, context) }
      return store(person, copy.values, context)
    }
    guard let row = rows[person] else {
      return mineWins ? store(person, copy.values, context) : drop(person, context)
    }
    if copy.isDeleted || policy == .rollback {
      if copy.isDeleted, mineWins { return drop(person, context) }
      return copies[context][person] = nil
    }
    var merged = row.values
    if policy == .overwrite { merged = copy.values }
    for dirty in copy.edits {
      switch dirty {
      case .age where mineWins || row.values.age == copy.base.age: merged.age = copy.values.age
      case .nickname where mineWins || row.values.nickname == copy.base.nickname:
        merged.nickname = copy.values.nickname
      case .age, .nickname: break
      }
    }
    guard merged != row.values else {
      // None of the edits is stored, so the row stays unchanged.
      copies[context][person] = Copy(version: row.version, base: merged, values: merged)
      return
    }
    store(person, merged, context)
  }

  private mutating func store(_ person: Int, _ values: Values, _ context: Int) {
    rows[person] = Row(version: lastVersion, values: values)
    copies[context][person] = Copy(version: lastVersion, base: values, values: values)
  }

  private mutating func drop(_ person: Int, _ context: Int) {
    rows[person] = nil
    copies[context][person] = nil
  }
}
