import Heartwood
import HeartwoodTestSupport

extension CrewRun {
  func edit(_ workspace: CrewWorkspace, _ step: CrewStep) throws {
    if step.operation == .insert { return try insert(workspace, step) }
    if step.operation == .insertAgain { return try insertAgain(workspace, step) }
    guard let tag = one(workspace.view.live, step.a), let row = workspace.view.now[tag] else {
      return
    }
    switch step.operation {
    case .set: try set(workspace, tag, row, step)
    case .setSame: try setSame(workspace, tag, row, step)
    case .setBack: try setBack(workspace, tag, row, step)
    case .relate: try relate(workspace, tag, row, step)
    case .toggle: try toggle(workspace, tag, row, step)
    case .reorder: try reorder(workspace, tag, row, step)
    default: try delete(workspace, tag)
    }
  }

  func begin(_ workspace: CrewWorkspace) {
    workspace.view.begin(tracksUndo: workspace.context.tracksUndo)
  }

  private func insert(_ workspace: CrewWorkspace, _ step: CrewStep) throws {
    let kinds: [CrewKind] = [.member, .member, .chief, .team, .job, .job, .tag, .badge]
    let kind = kinds[step.a % kinds.count]
    guard workspace.view.live.count < 26 else { return }
    let tag = newTag()
    begin(workspace)
    let object = CrewAccess.make(kind)
    workspace.context.insert(object)
    workspace.keep(object, as: tag)
    var row = CrewRow(kind)
    if kind.isMember {
      row[.token] = CrewAccess.value(.token, of: object)
      guard tokens.insert(row[.token]).inserted else {
        throw CrewMismatch("two objects were created with the token \(row[.token])")
      }
    }
    workspace.view.now[tag] = row
    workspace.view.work.inserted.append(tag)
    record("  \(kind) \(tag)")
    guard object.objectID.isTemporary, object.isInserted else {
      throw CrewMismatch("a new object has the ID \(object.objectID)")
    }
    workspace.temporaryIDs[tag] = object.objectID
    if step.b % 2 == 0 { try takeOver(workspace, tag, kind, step) }
    try expectSame(workspace, [tag])
  }

  /// Gives a new object a unique value of a row that the context has deleted, directly or through a
  /// delete rule.
  private func takeOver(
    _ workspace: CrewWorkspace, _ tag: Int, _ kind: CrewKind, _ step: CrewStep
  ) throws {
    guard let field = kind.constraints.first?.first else { return }
    let values = workspace.view.work.deleted.sorted().compactMap { workspace.view.base[$0] }
      .filter { $0.kind.constraints == kind.constraints && $0[field] != .none }.map { $0[field] }
    guard !values.isEmpty else { return }
    let value = values[step.c % values.count]
    CrewAccess.set(field, of: try workspace.object(tag), to: value)
    workspace.view.now[tag]?[field] = value
    recordSet(workspace, tag, field.rawValue)
    record("  \(tag).\(field) = \(value), which a deletion frees")
  }

  private func insertAgain(_ workspace: CrewWorkspace, _ step: CrewStep) throws {
    let all = workspace.view.now.rows.keys.sorted()
    guard let tag = one(all, step.a) else { return }
    if workspace.view.work.deleted.contains(tag) {
      // Undoing a saved insertion also reverts the object's values, but the reference model ignores
      // this.
      if setting.keepsUndo { return }
      // Skip faults, because they would be reread from a different generation than the other
      // objects.
      if try workspace.object(tag).isFault { return }
      begin(workspace)
      workspace.view.work.deleted.remove(tag)
    }
    workspace.context.insert(try workspace.object(tag))
    record("  \(tag) again")
    try expectSame(workspace, [tag])
  }

  // MARK: Attributes

  private func recordSet(_ workspace: CrewWorkspace, _ tag: Int, _ property: Int) {
    if workspace.view.isNew(tag) { workspace.view.work.wasSet[tag, default: []].insert(property) }
  }

  private func set(_ workspace: CrewWorkspace, _ tag: Int, _ row: CrewRow, _ step: CrewStep) throws
  {
    let fields = row.kind.fields.filter { !$0.isDerived }
    let field = fields[step.b % fields.count]
    let value = field.value(step.c)
    guard value != row[field] else { return }
    begin(workspace)
    CrewAccess.set(field, of: try workspace.object(tag), to: value)
    workspace.view.now[tag]?[field] = value
    recordSet(workspace, tag, field.rawValue)
    record("  \(tag).\(field) = \(value)")
    try expectSame(workspace, [tag])
  }

  private func setSame(_ workspace: CrewWorkspace, _ tag: Int, _ row: CrewRow, _ step: CrewStep)
    throws
  {
    let fields = row.kind.fields.filter { !$0.isDerived }
    let field = fields[step.b % fields.count]
    // Skip new objects in contexts with undo. The assignment marks the property as set, and undo
    // would have to revert this mark.
    if workspace.view.isNew(tag), workspace.context.tracksUndo { return }
    begin(workspace)
    CrewAccess.set(field, of: try workspace.object(tag), to: row[field])
    recordSet(workspace, tag, field.rawValue)
    record("  \(tag).\(field) = \(row[field]), as it is")
    try expectSame(workspace, [tag])
  }

  private func setBack(_ workspace: CrewWorkspace, _ tag: Int, _ row: CrewRow, _ step: CrewStep)
    throws
  {
    let fields = row.kind.fields.filter { !$0.isDerived }
    let field = fields[step.b % fields.count]
    let value = field.value(step.c)
    guard value != row[field] else { return }
    begin(workspace)
    CrewAccess.set(field, of: try workspace.object(tag), to: value)
    CrewAccess.set(field, of: try workspace.object(tag), to: row[field])
    recordSet(workspace, tag, field.rawValue)
    record("  \(tag).\(field) = \(value), and back")
    try expectSame(workspace, [tag])
  }

  // MARK: Relationships

  /// Returns whether a member has a mentor, which may be an object whose row is missing.
  private func hasGoneMentor(_ workspace: CrewWorkspace, _ tag: Int, _ row: CrewRow) throws -> Bool
  {
    guard row.kind.isMember else { return false }
    // If the deletion of a mentor is undone after a save, the mentor gets a new ID.
    if setting.keepsUndo { return true }
    // Whether clearing a reference to a missing row counts as a change depends on whether the
    // context has noticed that the row is missing.
    if let mentor = row[.mentor].first, workspace.view.now[mentor] == nil { return true }
    return (try workspace.object(tag) as? CrewMember)?.mentor != nil
  }

  private func relate(_ workspace: CrewWorkspace, _ tag: Int, _ row: CrewRow, _ step: CrewStep)
    throws
  {
    let links = row.kind.links
    guard !links.isEmpty else { return }
    let link = links[step.b % links.count]
    if link == .mentor, try hasGoneMentor(workspace, tag, row) { return }
    let candidates = candidates(link, workspace)
    var targets: [Int] = []
    if link.isToOne {
      let choice = step.c % (candidates.count + 1)
      if choice < candidates.count { targets = [candidates[choice]] }
    } else {
      var random = SeededGenerator(seed: UInt64(step.c))
      targets = candidates.filter { _ in random.isTrue(in256: 90) }.shuffled(using: &random)
    }
    try set(workspace, tag, link, to: targets)
  }

  /// Sets all members of a relationship in the context and in the reference.
  private func set(_ workspace: CrewWorkspace, _ tag: Int, _ link: CrewLink, to targets: [Int])
    throws
  {
    let old = workspace.view.now.targets(tag, link)
    let isSame = link.isOrdered ? old == targets : Set(old) == Set(targets)
    if !isSame { begin(workspace) }
    record("  \(tag).\(link) = \(targets)")
    CrewAccess.set(
      link, of: try workspace.object(tag), to: try targets.map { try workspace.object($0) })
    let touched = Set(old + targets)
    recordLinks(workspace, tag, link, touched)
    workspace.view.now.set(tag, link, to: targets)
    try expectSame(workspace, touched.union([tag]).filter { workspace.view.isLive($0) })
  }

  /// Records which references of new objects were set, directly or from the other side.
  private func recordLinks(
    _ workspace: CrewWorkspace, _ tag: Int, _ link: CrewLink, _ others: Set<Int>
  ) {
    let now = workspace.view.now
    if link.isToOne { recordSet(workspace, tag, 100 + link.rawValue) }
    guard let inverse = link.inverse, inverse.isToOne else { return }
    for other in others {
      let isThere = now.targets(tag, link).contains(other)
      if !isThere || inverse.isToOne { recordSet(workspace, other, 100 + inverse.rawValue) }
      if link.isToOne {
        for left in now.targets(other, inverse) { recordSet(workspace, left, 100 + link.rawValue) }
      }
    }
  }

  private func toggle(_ workspace: CrewWorkspace, _ tag: Int, _ row: CrewRow, _ step: CrewStep)
    throws
  {
    let links = row.kind.links
    guard !links.isEmpty else { return }
    let link = links[step.b % links.count]
    guard let other = one(candidates(link, workspace), step.c) else { return }
    if link == .mentor, try hasGoneMentor(workspace, tag, row) { return }
    try toggle(workspace, tag, row, link, other)
  }

  /// Adds or removes a member of a relationship in the context and in the reference.
  func toggle(
    _ workspace: CrewWorkspace, _ tag: Int, _ row: CrewRow, _ link: CrewLink, _ other: Int
  ) throws {
    begin(workspace)
    record("  \(tag).\(link) with or without \(other)")
    CrewAccess.toggle(link, of: try workspace.object(tag), try workspace.object(other))
    let touched = Set(
      row[link] + [other]
        + (link.inverse.map {
          workspace.view.now.targets(other, $0)
        } ?? []))
    recordLinks(workspace, tag, link, [other])
    if row[link].contains(other) {
      workspace.view.now.separate(tag, link, other)
    } else {
      workspace.view.now.join(tag, link, other)
    }
    try expectSame(workspace, touched.union([tag]).filter { workspace.view.isLive($0) })
  }

  private func reorder(_ workspace: CrewWorkspace, _ tag: Int, _ row: CrewRow, _ step: CrewStep)
    throws
  {
    let links = row.kind.links.filter { $0.isOrdered && row[$0].count > 1 }
    guard let link = one(links.map(\.rawValue), step.b).flatMap({ CrewLink(rawValue: $0) }) else {
      return
    }
    var random = SeededGenerator(seed: UInt64(step.c))
    try set(workspace, tag, link, to: row[link].shuffled(using: &random))
  }

  // MARK: Deleting

  private func delete(_ workspace: CrewWorkspace, _ tag: Int) throws {
    begin(workspace)
    record("  deletes \(tag)")
    workspace.context.delete(try workspace.object(tag))
    let before = workspace.view.now
    let gone = workspace.view.delete(tag)
    let touched = gone.flatMap { before[$0]?.links.flatMap { $0 } ?? [] }
    try expectSame(workspace, Set(touched).filter { workspace.view.isLive($0) })
    for tag in gone where !workspace.view.isNew(tag) {
      guard try workspace.object(tag).isDeleted else {
        throw CrewMismatch("\(tag) should be deleted, but is not")
      }
    }
  }

  // MARK: Undo

  func undo(_ workspace: CrewWorkspace, _ operation: CrewOperation) throws {
    guard workspace.context.tracksUndo else { return }
    let before = Set(workspace.view.work.inserted)
    switch operation {
    case .undo:
      workspace.context.undo()
      workspace.view.undo()
    case .redo:
      workspace.context.redo()
      workspace.view.redo()
    default:
      workspace.context.endUndoGroup()
      return workspace.view.endGroup()
    }
    try expectSame(workspace, "after \(operation)")
    for tag in workspace.view.work.inserted where !before.contains(tag) {
      let id = try workspace.object(tag).objectID
      if id.isTemporary { workspace.temporaryIDs[tag] = id }
    }
    if !workspace.view.canUndo, !setting.keepsUndo, !workspace.view.hasChanges,
      workspace.context.hasChanges
    {
      throw CrewMismatch("everything was undone, but hasChanges is true")
    }
    let (canUndo, canRedo) = (workspace.context.canUndo, workspace.context.canRedo)
    guard canUndo == workspace.view.canUndo, canRedo == !workspace.view.future.isEmpty else {
      throw CrewMismatch("canUndo \(canUndo) and canRedo \(canRedo) after \(operation)")
    }
  }
}
