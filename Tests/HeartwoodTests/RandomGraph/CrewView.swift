/// The content of a context in the reference, with the rows that were read and the unsaved changes.
struct CrewView {
  /// The state that undo restores.
  struct Work {
    var now = CrewGraph()
    /// The new objects, in the order in which they were inserted.
    var inserted: [Int] = []
    var deleted: Set<Int> = []
    /// The properties that were set, for each new object; relationships are numbered from 100.
    var wasSet: [Int: Set<Int>] = [:]
  }

  /// The rows that were read.
  var base = CrewGraph()
  /// The versions of the rows that were read.
  var versions: [Int: Int] = [:]
  var work = Work()
  /// The generation from which the context last read everything.
  var generation = 0
  var watched: Set<Int> = []

  /// The last values, including derived values, of the objects that undo can restore after a save.
  var lost = CrewGraph()
  var past: [Work] = []
  var future: [Work] = []
  /// The state at the start of the open undo group, or `nil` if no group is open.
  var groupStart: Work?

  var now: CrewGraph {
    get { work.now }
    set { work.now = newValue }
  }

  /// The objects that exist and are not deleted, in ascending order.
  var live: [Int] { work.now.rows.keys.filter { !work.deleted.contains($0) }.sorted() }

  func isLive(_ tag: Int) -> Bool { work.now[tag] != nil && !work.deleted.contains(tag) }

  func isNew(_ tag: Int) -> Bool { base[tag] == nil }

  /// The view without references to deleted new objects, because a save clears such references.
  var withoutLostMentors: CrewView {
    var view = self
    for (tag, row) in now.rows where row[.mentor] != base[tag]?[.mentor] {
      view.work.now[tag]?[.mentor].removeAll { isNew($0) && now[$0] == nil }
    }
    return view
  }

  /// Returns whether a stored object has unsaved changes and is not deleted.
  func isEdited(_ tag: Int) -> Bool {
    guard let before = base[tag], let row = work.now[tag], !work.deleted.contains(tag) else {
      return false
    }
    return !row.isSame(as: before)
  }

  var edited: Set<Int> { Set(base.rows.keys.filter { isEdited($0) }) }
  var hasChanges: Bool {
    !work.inserted.isEmpty || !work.deleted.isEmpty || base.rows.keys.contains { isEdited($0) }
  }

  /// Deletes an object, and returns all objects that are deleted with it.
  mutating func delete(_ tag: Int) -> [Int] {
    var gone: [Int] = []
    var deleted = work.deleted
    let stored = base
    work.now.delete(tag, &deleted) { graph, tag in
      gone.append(tag)
      if stored[tag] == nil { graph.forget(tag) }
    }
    for tag in gone where isNew(tag) {
      deleted.remove(tag)
      work.inserted.removeAll { $0 == tag }
    }
    work.deleted = deleted
    return gone
  }

  // MARK: Undo

  /// Records the state before a change, if no undo group is open.
  mutating func begin(tracksUndo: Bool) {
    guard tracksUndo else { return }
    if groupStart == nil { groupStart = work }
    future = []
  }

  mutating func endGroup() {
    if let groupStart { past.append(groupStart) }
    groupStart = nil
  }

  mutating func undo() {
    endGroup()
    guard let before = past.popLast() else { return }
    future.append(work)
    work = unsaved(before)
  }

  mutating func redo() {
    guard let after = future.popLast() else { return }
    endGroup()
    past.append(work)
    work = unsaved(after)
  }

  mutating func forgetUndo() { (past, future, groupStart, lost) = ([], [], nil, CrewGraph()) }

  /// Reads everything from a store that contains all changes of the context, and keeps the changes
  /// undoable.
  mutating func readKeepingUndo(_ store: CrewStore) {
    endGroup()
    let (past, future, before) = (past, future, work.now)
    var lost = lost.rows
    for (tag, row) in before.rows { lost[tag] = row }
    read(store)
    (self.past, self.future) = (past, future)
    self.lost.rows = lost
  }

  /// Returns the state of a group as unsaved changes to the rows that were read since.
  private func unsaved(_ group: Work) -> Work {
    guard !lost.rows.isEmpty else { return group }
    var result = group
    for tag in group.deleted where base[tag] == nil { result.now.forget(tag) }
    for (tag, row) in result.now.rows {
      // Only a save computes derived attributes.
      let last = work.now[tag] ?? lost[tag]
      for field in row.kind.fields where field.isDerived {
        if let value = last?[field] { result.now[tag]?[field] = value }
      }
    }
    result.inserted = result.now.rows.keys.filter { base[$0] == nil }.sorted()
    result.deleted = group.deleted.filter { base[$0] != nil }
    for (tag, row) in base.rows where group.now[tag] == nil {
      result.deleted.insert(tag)
      result.now[tag] = work.now[tag] ?? row
      result.now[tag]?.links = CrewRow.noLinks
    }
    for tag in result.inserted where group.wasSet[tag] == nil {
      result.wasSet[tag] = Set(CrewField.allCases.map(\.rawValue))
    }
    return result
  }

  var canUndo: Bool { groupStart != nil || !past.isEmpty }

  // MARK: The store

  /// Reads everything from a store, and discards all unsaved changes.
  mutating func read(_ store: CrewStore) {
    self = CrewView()
    base = store.graph
    versions = store.versions
    work.now = store.graph
    generation = store.generation
  }

  /// Returns whether the unsaved changes can be reapplied to a store in only one way.
  ///
  /// This requires that no object is deleted, that nothing can be undone or redone, and that all
  /// changed and referenced objects still exist.
  func canRebase(_ store: CrewStore) -> Bool {
    guard work.deleted.isEmpty, !canUndo, future.isEmpty else { return false }
    let inserted = Set(work.inserted)
    func isThere(_ tag: Int) -> Bool { inserted.contains(tag) || store.graph[tag] != nil }
    return edited.union(inserted).allSatisfy { tag in
      guard let row = now[tag], isThere(tag) else { return false }
      return row.kind.links.allSatisfy { row[$0].allSatisfy(isThere) }
    }
  }

  /// The ordered relationships with unsaved changes; a merge determines their order.
  var changedOrders: [(tag: Int, link: CrewLink)] {
    edited.union(work.inserted).flatMap { tag in
      (now[tag]?.kind.links ?? []).filter {
        $0.isOrdered && now[tag]?[$0] != base[tag]?[$0]
      }.map { (tag, $0) }
    }
  }

  /// Rereads everything, and reapplies the unsaved changes.
  mutating func rebase(_ store: CrewStore) {
    let (before, mine, edited, watched) = (base, now, edited.sorted(), watched)
    let (inserted, wasSet) = (work.inserted, work.wasSet)
    read(store)
    self.watched = watched
    (work.inserted, work.wasSet) = (inserted, wasSet)
    for tag in inserted {
      work.now[tag] = mine[tag]
      work.now[tag]?.links = CrewRow.noLinks
    }
    for tag in edited {
      guard let old = before[tag], let row = mine[tag] else { continue }
      for field in row.kind.fields where row[field] != old[field] && !field.isDerived {
        work.now[tag]?[field] = row[field]
      }
      // Separate objects before relating any, because relating an object may separate it from
      // another.
      for link in row.kind.links where !row.has(link, like: old) {
        let isLeft: (Int) -> Bool = link.isToOne ? { _ in true } : { old[link].contains($0) }
        guard link.isToOne || link.isManyToMany else { continue }
        for other in now.targets(tag, link) where isLeft(other) && !row[link].contains(other) {
          work.now.separate(tag, link, other)
        }
      }
    }
    for tag in edited + inserted {
      guard let row = mine[tag] else { continue }
      let old = before[tag]?.links ?? CrewRow.noLinks
      for link in row.kind.links where link.isToOne || link.isManyToMany {
        let joined = row[link].filter { !old[link.rawValue].contains($0) }
        for other in joined { work.now.join(tag, link, other) }
      }
    }
    for tag in edited + inserted {
      guard let row = mine[tag] else { continue }
      let old = before[tag]?.links ?? CrewRow.noLinks
      for link in row.kind.links where link.isOrdered && row[link] != old[link.rawValue] {
        if Set(now.targets(tag, link)) == Set(row[link]) { work.now[tag]?[link] = row[link] }
      }
    }
  }

  mutating func rollback() {
    work = Work()
    work.now = base
    watched = []
    forgetUndo()
  }
}

/// The content of the store, as the reference models it.
struct CrewStore {
  var graph = CrewGraph()
  /// The generation in which each row was last written.
  var versions: [Int: Int] = [:]
  var generation = 0

  /// Adds the result of a save or a batch request as the next generation.
  ///
  /// - Returns: The difference between the previous generation and the new one.
  mutating func commit(_ new: CrewGraph) -> CrewDifference {
    var new = new
    new.derive()
    var difference = CrewDifference()
    for (tag, row) in new.rows {
      guard let before = graph[tag] else {
        difference.inserted.insert(tag)
        continue
      }
      if row != before {
        let names = row.differences(from: before)
        if names.isEmpty {
          if row.values != before.values { difference.computed.insert(tag) }
        } else {
          difference.updated[tag] = Set(names)
        }
      }
    }
    difference.deleted = Set(graph.rows.keys.filter { new[$0] == nil })
    guard !difference.isEmpty else { return difference }
    generation += 1
    for tag in difference.inserted.union(difference.updated.keys) { versions[tag] = generation }
    for tag in difference.deleted { versions[tag] = nil }
    graph = new
    return difference
  }
}

extension CrewStore {
  /// Adopts the content that other processes have saved as the next generation.
  ///
  /// - Parameter written: The rows that the other processes wrote, including rows with unchanged
  ///   values.
  mutating func adopt(_ new: CrewGraph, written: Set<Int>) -> CrewDifference {
    let difference = commit(new)
    if difference.isEmpty, !written.isEmpty { generation += 1 }
    for tag in written where graph[tag] != nil { versions[tag] = generation }
    return difference
  }
}

/// The difference between two consecutive generations of the reference.
struct CrewDifference {
  var inserted: Set<Int> = []
  /// The names of the changed properties, except derived attributes, for each updated object.
  var updated: [Int: Set<String>] = [:]
  var deleted: Set<Int> = []
  /// The objects in which only derived attributes changed.
  var computed: Set<Int> = []

  var isEmpty: Bool { inserted.isEmpty && updated.isEmpty && deleted.isEmpty && computed.isEmpty }
}

/// A reason why a modelled save throws.
enum CrewFailure: String, Error {
  case mergeConflict, constraintConflict, deniedDelete, validation
}

/// The errors that a modelled save may throw.
struct CrewFailures: Error {
  var all: Set<CrewFailure> = []
  init(_ all: Set<CrewFailure> = []) { self.all = all }
}
