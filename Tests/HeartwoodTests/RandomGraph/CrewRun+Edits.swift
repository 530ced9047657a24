import Heartwood
import HeartwoodTestSupport

extension CrewRun {
  /// Changes objects of a context.
  func edit(_ place: CrewPlace, _ step: CrewStep) throws {
    if step.operation == .insert { return try insert(place, step) }
    if step.operation == .insertAgain { return try insertAgain(place, step) }
    guard let tag = one(place.view.live, step.a), let row = place.view.now[tag] else { return }
    switch step.operation {
    case .set: try set(place, tag, row, step)
    case .setSame: try setSame(place, tag, row, step)
    case .setBack: try setBack(place, tag, row, step)
    case .relate: try relate(place, tag, row, step)
    case .toggle: try toggle(place, tag, row, step)
    case .reorder: try reorder(place, tag, row, step)
    default: try delete(place, tag)
    }
  }

  func begin(_ place: CrewPlace) {
    place.view.begin(tracksUndo: place.context.tracksUndo)
  }

  private func insert(_ place: CrewPlace, _ step: CrewStep) throws {
    let kinds: [CrewKind] = [.member, .member, .chief, .team, .job, .job, .tag, .badge]
    let kind = kinds[step.a % kinds.count]
    guard place.view.live.count < 26 else { return }
    let tag = newTag()
    begin(place)
    let object = CrewAccess.make(kind)
    place.context.insert(object)
    place.keep(object, as: tag)
    var row = CrewRow(kind)
    if kind.isMember {
      row[.token] = CrewAccess.value(.token, of: object)
      guard tokens.insert(row[.token]).inserted else {
        throw CrewMismatch("two objects were made with the token \(row[.token])")
      }
    }
    place.view.now[tag] = row
    place.view.work.inserted.append(tag)
    note("  \(kind) \(tag)")
    guard object.objectID.isTemporary, object.isInserted else {
      throw CrewMismatch("a new object has the ID \(object.objectID)")
    }
    place.temporaryIDs[tag] = object.objectID
    try expectSame(place, [tag])
  }

  private func insertAgain(_ place: CrewPlace, _ step: CrewStep) throws {
    let all = place.view.now.rows.keys.sorted()
    guard let tag = one(all, step.a) else { return }
    if place.view.work.deleted.contains(tag) {
      // It would be reread from another generation than the rest.
      if try place.object(tag).isFault { return }
      begin(place)
      place.view.work.deleted.remove(tag)
    }
    place.context.insert(try place.object(tag))
    note("  \(tag) again")
    try expectSame(place, [tag])
  }

  // MARK: Attributes

  private func noteSet(_ place: CrewPlace, _ tag: Int, _ property: Int) {
    if place.view.isNew(tag) { place.view.work.wasSet[tag, default: []].insert(property) }
  }

  private func set(_ place: CrewPlace, _ tag: Int, _ row: CrewRow, _ step: CrewStep) throws {
    let fields = row.kind.fields.filter { !$0.isDerived }
    let field = fields[step.b % fields.count]
    let value = field.value(step.c)
    guard value != row[field] else { return }
    begin(place)
    CrewAccess.set(field, of: try place.object(tag), to: value)
    place.view.now[tag]?[field] = value
    noteSet(place, tag, field.rawValue)
    note("  \(tag).\(field) = \(value)")
    try expectSame(place, [tag])
  }

  private func setSame(_ place: CrewPlace, _ tag: Int, _ row: CrewRow, _ step: CrewStep) throws {
    let fields = row.kind.fields.filter { !$0.isDerived }
    let field = fields[step.b % fields.count]
    // For a new object it makes a difference, which undo would have to revert.
    if place.view.isNew(tag), place.context.tracksUndo { return }
    begin(place)
    CrewAccess.set(field, of: try place.object(tag), to: row[field])
    noteSet(place, tag, field.rawValue)
    note("  \(tag).\(field) = \(row[field]), as it is")
    try expectSame(place, [tag])
  }

  private func setBack(_ place: CrewPlace, _ tag: Int, _ row: CrewRow, _ step: CrewStep) throws {
    let fields = row.kind.fields.filter { !$0.isDerived }
    let field = fields[step.b % fields.count]
    let value = field.value(step.c)
    guard value != row[field] else { return }
    begin(place)
    CrewAccess.set(field, of: try place.object(tag), to: value)
    CrewAccess.set(field, of: try place.object(tag), to: row[field])
    noteSet(place, tag, field.rawValue)
    note("  \(tag).\(field) = \(value), and back")
    try expectSame(place, [tag])
  }

  // MARK: Relationships

  /// Returns whether a member refers to a missing row, which the reference omits.
  private func hasGoneMentor(_ place: CrewPlace, _ tag: Int, _ row: CrewRow) throws -> Bool {
    guard row.kind.isMember else { return false }
    // Whether clearing it is a change depends on whether the context knows that the row is missing.
    if let mentor = row[.mentor].first, place.view.now[mentor] == nil { return true }
    return (try place.object(tag) as? CrewMember)?.mentor != nil
  }

  private func relate(_ place: CrewPlace, _ tag: Int, _ row: CrewRow, _ step: CrewStep) throws {
    let links = row.kind.links
    guard !links.isEmpty else { return }
    let link = links[step.b % links.count]
    if link == .mentor, try hasGoneMentor(place, tag, row) { return }
    let candidates = candidates(link, place)
    var targets: [Int] = []
    if link.isToOne {
      let choice = step.c % (candidates.count + 1)
      if choice < candidates.count { targets = [candidates[choice]] }
    } else {
      var random = SeededGenerator(seed: UInt64(step.c))
      targets = candidates.filter { _ in random.isTrue(in256: 90) }.shuffled(using: &random)
    }
    try set(place, tag, link, to: targets)
  }

  /// Sets all members of a relationship in the context and in the reference.
  private func set(_ place: CrewPlace, _ tag: Int, _ link: CrewLink, to targets: [Int]) throws {
    let old = place.view.now.targets(tag, link)
    let isSame = link.isOrdered ? old == targets : Set(old) == Set(targets)
    if !isSame { begin(place) }
    note("  \(tag).\(link) = \(targets)")
    CrewAccess.set(link, of: try place.object(tag), to: try targets.map { try place.object($0) })
    let touched = Set(old + targets)
    noteLinks(place, tag, link, touched)
    place.view.now.set(tag, link, to: targets)
    try expectSame(place, touched.union([tag]).filter { place.view.isLive($0) })
  }

  /// Records which references of new objects were set, from either side.
  private func noteLinks(_ place: CrewPlace, _ tag: Int, _ link: CrewLink, _ others: Set<Int>) {
    let now = place.view.now
    if link.isToOne { noteSet(place, tag, 100 + link.rawValue) }
    guard let inverse = link.inverse, inverse.isToOne else { return }
    for other in others {
      let isThere = now.targets(tag, link).contains(other)
      if !isThere || inverse.isToOne { noteSet(place, other, 100 + inverse.rawValue) }
      if link.isToOne {
        for left in now.targets(other, inverse) { noteSet(place, left, 100 + link.rawValue) }
      }
    }
  }

  private func toggle(_ place: CrewPlace, _ tag: Int, _ row: CrewRow, _ step: CrewStep) throws {
    let links = row.kind.links
    guard !links.isEmpty else { return }
    let link = links[step.b % links.count]
    guard let other = one(candidates(link, place), step.c) else { return }
    if link == .mentor, try hasGoneMentor(place, tag, row) { return }
    begin(place)
    note("  \(tag).\(link) with or without \(other)")
    CrewAccess.toggle(link, of: try place.object(tag), try place.object(other))
    let touched = Set(
      row[link] + [other]
        + (link.inverse.map {
          place.view.now.targets(other, $0)
        } ?? []))
    noteLinks(place, tag, link, [other])
    if row[link].contains(other) {
      place.view.now.separate(tag, link, other)
    } else {
      place.view.now.join(tag, link, other)
    }
    try expectSame(place, touched.union([tag]).filter { place.view.isLive($0) })
  }

  private func reorder(_ place: CrewPlace, _ tag: Int, _ row: CrewRow, _ step: CrewStep) throws {
    let links = row.kind.links.filter { $0.isOrdered && row[$0].count > 1 }
    guard let link = one(links.map(\.rawValue), step.b).flatMap({ CrewLink(rawValue: $0) }) else {
      return
    }
    var random = SeededGenerator(seed: UInt64(step.c))
    try set(place, tag, link, to: row[link].shuffled(using: &random))
  }

  // MARK: Deleting

  private func delete(_ place: CrewPlace, _ tag: Int) throws {
    begin(place)
    note("  deletes \(tag)")
    place.context.delete(try place.object(tag))
    var gone: [Int] = []
    var deleted = place.view.work.deleted
    let before = place.view.now
    let stored = place.view.base
    place.view.work.now.delete(tag, &deleted) { graph, tag in
      gone.append(tag)
      if stored[tag] == nil { graph.forget(tag) }
    }
    for tag in gone where place.view.isNew(tag) {
      deleted.remove(tag)
      place.view.work.inserted.removeAll { $0 == tag }
    }
    place.view.work.deleted = deleted
    let touched = gone.flatMap { before[$0]?.links.flatMap { $0 } ?? [] }
    try expectSame(place, Set(touched).filter { place.view.isLive($0) })
    for tag in gone where !place.view.isNew(tag) {
      guard try place.object(tag).isDeleted else {
        throw CrewMismatch("\(tag) should be deleted, and is not")
      }
    }
  }

  // MARK: Undo

  func undo(_ place: CrewPlace, _ operation: CrewOperation) throws {
    guard place.context.tracksUndo else { return }
    switch operation {
    case .undo:
      place.context.undo()
      place.view.undo()
    case .redo:
      place.context.redo()
      place.view.redo()
    default:
      place.context.endUndoGroup()
      return place.view.endGroup()
    }
    try expectSame(place, "after \(operation)")
    if !place.view.canUndo, !place.view.hasChanges, place.context.hasChanges {
      throw CrewMismatch("everything was undone, and hasChanges says something was changed")
    }
    let (canUndo, canRedo) = (place.context.canUndo, place.context.canRedo)
    guard canUndo == place.view.canUndo, canRedo == !place.view.future.isEmpty else {
      throw CrewMismatch("canUndo \(canUndo) and canRedo \(canRedo) after \(operation)")
    }
  }
}
