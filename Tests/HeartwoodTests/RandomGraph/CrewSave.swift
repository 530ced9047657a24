import Heartwood

/// Models a save as the three-way merge of base, mine and theirs that C-01 to C-16 specify.
struct CrewSave {
  let view: CrewView
  let policy: MergePolicy.Each
  let theirs: CrewStore
  /// The content of the store after the save.
  var result: CrewGraph
  /// For each new object that has become an existing object, the number of that object.
  var became: [Int: Int] = [:]
  /// A Boolean value that indicates whether the guarantees permit several orders of the members.
  var isOrderOpen = false
  /// A Boolean value that indicates whether guarantees contradict each other.
  ///
  /// In this case, any of their outcomes is correct.
  var isOpen = false

  private var mine: CrewGraph { view.now }
  private(set) var standing: Set<Int> = []
  private(set) var deletions: Set<Int> = []
  private(set) var contested: Set<Int> = []

  init(_ view: CrewView, _ policy: MergePolicy.Each, _ store: CrewStore) {
    self.view = view.withoutLostMentors
    self.policy = policy
    theirs = store
    result = store.graph
  }

  /// Computes the result.
  ///
  /// - Throws: The errors that the save may throw; it must throw at least one of them.
  mutating func run() throws(CrewFailures) {
    try validate()
    try decide()
    rewriteRows()
    writeAttributes()
    try writeReferences()
    writePairs()
    writeMembers()
    try delete()
    try resolveUpserts()
    writeOrders()
  }

  /// Throws the errors that prevent the save regardless of what other contexts have saved.
  func validate() throws(CrewFailures) {
    var failures = CrewFailures()
    for tag in view.work.inserted + Array(view.edited)
    where mine[tag]?.kind.isMember == true && mine[tag]?[.title] == .text(CrewValue.invalidTitle) {
      failures.all.insert(.validation)
    }
    if !failures.all.isEmpty { throw failures }
  }

  // MARK: Decisions

  private func isContested(_ tag: Int) -> Bool { theirs.versions[tag] != view.versions[tag] }

  /// Decides which changed objects are deleted, and whose edits are stored.
  private mutating func decide() throws(CrewFailures) {
    let edited = view.edited
    let deleted = view.work.deleted.filter { theirs.graph[$0] != nil }
    contested = edited.union(deleted).filter { isContested($0) }
    let watched = view.watched.filter { view.isLive($0) && isContested($0) }
    for tag in deleted where !contested.contains(tag) || carriesOut(tag) { deletions.insert(tag) }
    var failures = CrewFailures()
    if policy == .error, !contested.isEmpty || !watched.isEmpty {
      failures.all.insert(.mergeConflict)
    }
    for tag in deletions where mine.targets(tag, .reserved).contains(where: { view.isLive($0) }) {
      failures.all.insert(.deniedDelete)
    }
    if !failures.all.isEmpty { throw failures }
    for tag in edited {
      if isDeletedByPolicy(tag) {
        if theirs.graph[tag] != nil { deletions.insert(tag) }
        continue
      }
      let givesWay =
        contested.contains(tag)
        && (policy == .rollback || policy == .storeTrump && theirs.graph[tag] == nil)
      if !givesWay { standing.insert(tag) }
    }
    standing.formUnion(view.work.inserted)
  }

  /// Returns whether a deletion is carried out although another context has changed the object.
  private func carriesOut(_ tag: Int) -> Bool {
    if policy == .custom { return theirs.graph[tag].map { !CrewPolicy.keeps($0.kind) } ?? true }
    return !policy.keepsStore
  }

  private func isDeletedByPolicy(_ tag: Int) -> Bool {
    guard policy == .custom, contested.contains(tag), let row = mine[tag] else { return false }
    return CrewPolicy.deletes(row, theirs.graph[tag])
  }

  /// Returns whether the custom policy keeps the reference that another context has saved.
  private func isLeftToOthers(_ tag: Int, _ link: CrewLink) -> Bool {
    policy == .custom && link == .mentor && contested.contains(tag) && !isRewritten(tag)
  }

  /// Returns whether an edit to a property is stored.
  private func stands(_ tag: Int, _ isTheirsChanged: Bool) -> Bool {
    guard standing.contains(tag) else { return false }
    return !(policy == .storeTrump && contested.contains(tag) && isTheirsChanged)
  }

  private func isTheirsChanged(_ tag: Int, _ link: CrewLink) -> Bool {
    guard let before = view.base[tag], let row = theirs.graph[tag] else { return false }
    return !row.has(link, like: before)
  }

  /// Returns whether the members of a relationship differ from the members that were read.
  private func isEdited(_ tag: Int, _ link: CrewLink) -> Bool {
    guard let row = mine[tag] else { return false }
    guard let before = view.base[tag] else { return !row[link].isEmpty }
    return !row.has(link, like: before)
  }

  private func isRewritten(_ tag: Int) -> Bool {
    standing.contains(tag) && view.base[tag] != nil && theirs.graph[tag] == nil
  }

  private var existing: [Int] { standing.filter { view.base[$0] != nil }.sorted() }

  // MARK: Writing

  private mutating func rewriteRows() {
    for tag in existing where isRewritten(tag) {
      if let kind = mine[tag]?.kind { result[tag] = CrewRow(kind) }
    }
  }

  private mutating func writeAttributes() {
    for tag in existing {
      guard let row = mine[tag], let before = view.base[tag] else { continue }
      let isWhole = isRewritten(tag) || policy == .overwrite && contested.contains(tag)
      for field in row.kind.fields where !field.isDerived {
        let isStanding = stands(tag, theirs.graph[tag].map { $0[field] != before[field] } ?? false)
        if isWhole || isStanding && row[field] != before[field] {
          result[tag]?[field] = row[field]
        }
        if policy == .custom, contested.contains(tag), let others = theirs.graph[tag],
          let value = CrewPolicy.value(field, before, row, others)
        {
          result[tag]?[field] = value
        }
      }
    }
  }

  private mutating func writeReferences() throws(CrewFailures) {
    for tag in existing {
      guard let row = mine[tag] else { continue }
      let isWhole = isRewritten(tag) || policy == .overwrite && contested.contains(tag)
      for link in row.kind.links where link.isToOne && !link.isPair {
        if isLeftToOthers(tag, link) { continue }
        if link == .mentor, contested.contains(tag), leadsToGone(tag) { isOpen = true }
        let isStored = stands(tag, isTheirsChanged(tag, link)) && isEdited(tag, link)
        guard isWhole || isStored else { continue }
        let target = row[link].first
        // Relate new objects later, because they have no rows yet.
        let isLater = target.map { view.isNew($0) && mine[$0] != nil } ?? false
        try refer(tag, link, to: isLater ? nil : target)
      }
    }
  }

  private func leadsToGone(_ tag: Int) -> Bool {
    let mentors = view.base.targets(tag, .mentor) + theirs.graph.targets(tag, .mentor)
    return mentors.contains { theirs.graph[$0] == nil }
  }

  private mutating func refer(_ tag: Int, _ link: CrewLink, to target: Int?) throws(CrewFailures) {
    for old in result.targets(tag, link) where old != target { result.separate(tag, link, old) }
    guard let target, !deletions.contains(target) else { return }
    // The target was deleted both here and by another context.
    if view.work.deleted.contains(target), theirs.graph[target] == nil { return }
    // The target was a new object that was deleted before the save.
    if view.isNew(target), mine[target] == nil, theirs.graph[target] == nil { return }
    if result[target] != nil {
      result.join(tag, link, target)
    } else if policy == .error {
      throw CrewFailures([.mergeConflict])
    }
  }

  private mutating func writePairs() {
    for tag in existing {
      guard let row = mine[tag], let before = view.base[tag] else { continue }
      for link in row.kind.links where link.isPair {
        if contested.contains(tag), isTheirsChanged(tag, link) || isRewritten(tag) {
          // Two guarantees contradict each other here: "all references are mine" and "stored if the
          // edit stands at both ends".
          if policy == .overwrite || isRewritten(tag) { isOpen = true }
        }
        guard isEdited(tag, link), stands(tag, isTheirsChanged(tag, link)) else { continue }
        let isGone = row[link].contains { !view.isNew($0) && result[$0] == nil }
        guard let new = row[link].first, !view.isNew(new), !isGone, let inverse = link.inverse
        else {
          // If the partner was removed here, also remove any partner that another context has set.
          let isSeparated = row[link].isEmpty || isGone
          let former = isSeparated ? result.targets(tag, link) : before[link]
          for old in former { result.separate(tag, link, old) }
          continue
        }
        // If the object was its own partner, separate the object from itself.
        if before[link].contains(tag) { result.separate(tag, link, tag) }
        guard stands(new, isTheirsChanged(new, inverse)), isEdited(new, inverse),
          result[new] != nil, result[tag] != nil
        else { continue }
        result.join(tag, link, new)
      }
    }
  }

  /// Adds and removes members of many-to-many relationships.
  private mutating func writeMembers() {
    for tag in view.edited.sorted() {
      guard let row = mine[tag], let before = view.base[tag] else { continue }
      for link in row.kind.links where link.isManyToMany {
        for member in row[link] where !before[link].contains(member) && !view.isNew(member) {
          guard standing.contains(tag) || standing.contains(member) else { continue }
          if result[tag] != nil, result[member] != nil { result.join(tag, link, member) }
        }
        for member in before[link] where !row[link].contains(member) {
          guard standing.contains(tag) || standing.contains(member) else { continue }
          result.separate(tag, link, member)
        }
      }
    }
  }

  // MARK: Deletions

  private mutating func delete() throws(CrewFailures) {
    var gone: Set<Int> = []
    var waiting = deletions.sorted()
    while let tag = waiting.popLast() {
      guard gone.insert(tag).inserted else { continue }
      for job in result.targets(tag, .jobs) where !view.work.deleted.contains(job) {
        waiting.append(job)
      }
    }
    for tag in gone where result.targets(tag, .reserved).contains(where: { !gone.contains($0) }) {
      throw CrewFailures([.deniedDelete])
    }
    for tag in gone { result.forget(tag) }
    result.clearLostMentors(changedSince: theirs.graph)
  }

  // MARK: Orders

  private mutating func writeOrders() {
    for tag in existing + Array(Set(became.values)).sorted() + view.work.inserted {
      guard let row = mine[tag], result[tag] != nil else { continue }
      for link in row.kind.links where link.isOrdered {
        let wanted = row[link].map { became[$0] ?? $0 }
        let stored = result.targets(tag, link)
        guard stored != wanted, stored.count > 1 else { continue }
        let isPlain = !contested.contains(tag) && became.isEmpty && contested.isEmpty
        if isPlain, Set(stored) == Set(wanted) {
          if isEdited(tag, link) { result[tag]?[link] = wanted }
        } else {
          isOrderOpen = true
        }
      }
    }
    if !contested.isEmpty || !became.isEmpty { isOrderOpen = true }
  }

  // MARK: New objects

  /// Creates rows for new objects, or merges the objects into existing rows.
  private mutating func resolveUpserts() throws(CrewFailures) {
    try requireUnique()
    for tag in view.work.inserted {
      guard let row = mine[tag] else { continue }
      if let met = try existingRow(tag, row) {
        became[tag] = met
        adopt(tag, row, into: met)
        try requireUnique()
      } else {
        var new = CrewRow(row.kind)
        new.values = row.values
        result[tag] = new
      }
    }
    try relateNew()
  }

  private func requireUnique() throws(CrewFailures) {
    var seen: Set<[CrewValue]> = []
    for (tag, row) in result.rows {
      for (position, constraint) in row.kind.constraints.enumerated() {
        guard let key = result.key(tag, constraint) else { continue }
        let kind = row.kind.isMember ? CrewKind.member : row.kind
        let name = CrewValue.integer(kind.rawValue * 10 + position)
        if !seen.insert([name] + key).inserted { throw CrewFailures([.constraintConflict]) }
      }
    }
  }

  /// Returns the existing row with the unique values of a new object, or `nil` if there is none.
  private func existingRow(_ tag: Int, _ row: CrewRow) throws(CrewFailures) -> Int? {
    var found: Set<Int> = []
    for constraint in row.kind.constraints {
      guard let key = view.now.key(tag, constraint) else { continue }
      for other in result.rows.keys where other != tag {
        guard let there = result[other], there.kind.constraints.contains(constraint) else {
          continue
        }
        if result.key(other, constraint) == key { found.insert(other) }
      }
    }
    guard let one = found.first else { return nil }
    if found.count > 1 || policy == .error || result[one]?.kind != row.kind {
      throw CrewFailures([.constraintConflict])
    }
    return one
  }

  private mutating func adopt(_ tag: Int, _ row: CrewRow, into met: Int) {
    let wasSet = view.work.wasSet[tag] ?? []
    for field in row.kind.fields where !field.isDerived {
      let isTaken =
        policy == .overwrite || !policy.keepsStore && wasSet.contains(field.rawValue)
      if isTaken { result[met]?[field] = row[field] }
    }
  }

  /// Returns the number of the row that an object has, or of the existing row that it became.
  private func rowTag(_ tag: Int) -> Int { became[tag] ?? tag }

  /// Returns whether a reference of a new object is stored.
  private func counts(_ tag: Int, _ link: CrewLink) -> Bool {
    guard became[tag] != nil else { return true }
    switch policy {
    case .objectTrump, .custom:
      return view.work.wasSet[tag]?.contains(100 + link.rawValue) == true
    case .overwrite: return true
    case .storeTrump, .rollback, .error: return false
    }
  }

  private func standsNow(_ tag: Int) -> Bool {
    standing.contains(tag) && !(became[tag] != nil && policy.keepsStore)
  }

  /// Stores the relationships of new objects and the references to them.
  private mutating func relateNew() throws(CrewFailures) {
    for tag in existing + view.work.inserted {
      guard let row = mine[tag], result[rowTag(tag)] != nil else { continue }
      let isNew = view.isNew(tag)
      for link in row.kind.links {
        if link.isPair {
          try relatePair(tag, row, link, isNew)
        } else if link.isToOne {
          if isLeftToOthers(tag, link) { continue }
          let target = row[link].first
          if isNew {
            guard counts(tag, link) else { continue }
          } else {
            guard let target, view.isNew(target), stands(tag, isTheirsChanged(tag, link)),
              isEdited(tag, link) || policy == .overwrite && contested.contains(tag)
            else { continue }
          }
          try refer(rowTag(tag), link, to: target.map { rowTag($0) })
        } else if link.isManyToMany {
          for member in row[link] where isNew || view.isNew(member) {
            if standsNow(tag) || standsNow(member), result[rowTag(member)] != nil {
              result.join(rowTag(tag), link, rowTag(member))
            }
          }
        }
      }
    }
  }

  private mutating func relatePair(
    _ tag: Int, _ row: CrewRow, _ link: CrewLink, _ isNew: Bool
  ) throws(CrewFailures) {
    guard let inverse = link.inverse else { return }
    guard let target = row[link].first else {
      if isNew, became[tag] != nil, counts(tag, link) { isOpen = true }
      return
    }
    guard isNew || view.isNew(target) else { return }
    // If both objects of a pair become the same row, the row may refer to itself or to nothing.
    if tag != target, rowTag(tag) == rowTag(target) { isOpen = true }
    let both =
      (isNew ? counts(tag, link) : stands(tag, isTheirsChanged(tag, link)))
      && (view.isNew(target)
        ? counts(target, inverse) : stands(target, isTheirsChanged(target, inverse)))
    if both, result[rowTag(target)] != nil { result.join(rowTag(tag), link, rowTag(target)) }
  }
}
