import Foundation
import Heartwood

extension CrewRun {
  func refresh(_ workspace: CrewWorkspace, _ step: CrewStep) throws {
    let isStale = isStale(workspace)
    switch step.operation {
    case .sync:
      if workspace.view.canRebase(workspace.pinned ?? store) { try sync(workspace) }
    case .refreshAll:
      guard !isStale else { return }
      workspace.context.refreshAllObjects()
      try readDeleted(workspace)
      try expectSame(workspace, "after refreshAllObjects")
    case .refresh:
      guard !isStale, let tag = one(workspace.view.live, step.a) else { return }
      record("  refreshes \(tag)")
      try workspace.context.refresh(try workspace.object(tag), mergeChanges: true)
      try expectSame(workspace, "after refresh")
    default:
      guard !isStale, let tag = one(workspace.view.live, step.a) else { return }
      try drop(workspace, tag)
    }
  }

  /// Reads deleted objects, so that their values are loaded if the objects are restored.
  func readDeleted(_ workspace: CrewWorkspace) throws {
    for tag in workspace.view.work.deleted {
      guard let row = workspace.view.now[tag], let field = row.kind.fields.first else { continue }
      let object = try workspace.object(tag)
      _ = CrewAccess.value(field, of: object)
      for link in row.kind.links { _ = CrewAccess.targets(link, of: object) }
    }
  }

  /// Refreshes an object without keeping its changes.
  ///
  /// The refresh must throw if relationships were changed.
  private func drop(_ workspace: CrewWorkspace, _ tag: Int) throws {
    guard let before = workspace.view.base[tag], let row = workspace.view.now[tag],
      !workspace.context.tracksUndo
    else { return }
    record("  drops the changes of \(tag)")
    let isRelated = row.kind.links.contains { !row.has($0, like: before) }
    do {
      try workspace.context.refresh(try workspace.object(tag), mergeChanges: false)
      guard !isRelated else { throw CrewMismatch("relationships of \(tag) were dropped") }
    } catch let error as ObjectGraphError where error.kind == .unsavedRelationships {
      return
    }
    workspace.view.now[tag]?.values = before.values
    try expectSame(workspace, "after changes were dropped")
  }

  func detectConflicts(_ workspace: CrewWorkspace, _ step: CrewStep) {
    guard workspace.policy == .error, let tag = one(workspace.view.live, step.a),
      !workspace.view.isNew(tag),
      let object = try? workspace.object(tag)
    else { return }
    workspace.context.detectConflicts(for: object)
    workspace.view.watched.insert(tag)
  }

  // MARK: IDs

  func obtainIDs(_ workspace: CrewWorkspace, _ step: CrewStep) throws {
    let new = workspace.view.work.inserted.filter { step.a % 2 == 0 || $0 % 2 == 0 }
    let objects = try new.map { try workspace.object($0) }
    try workspace.context.obtainPermanentIDs(for: objects)
    for (tag, object) in zip(new, objects) {
      guard !object.objectID.isTemporary, object.isInserted else {
        throw CrewMismatch("\(tag) has no permanent ID: \(object.objectID)")
      }
    }
    try expectHistory(CrewDifference(), isExact: true, "after obtainPermanentIDs")
  }

  /// Looks up an object by its ID, in its context and in a new context.
  func lookUp(_ workspace: CrewWorkspace, _ step: CrewStep) throws {
    guard let tag = one(workspace.view.live, step.a) else { return }
    let object = try workspace.object(tag)
    let id = object.objectID
    record("  looks up \(tag)")
    let found: ManagedObject? = try workspace.context.existingObject(with: id)
    guard found === object, workspace.context.registeredObject(for: id) === object,
      workspace.context.object(with: id) === object
    else { throw CrewMismatch("the ID of \(tag) does not lead to it") }
    guard ManagedObjectID(uriRepresentation: id.uriRepresentation) == id else {
      throw CrewMismatch("the URI of \(tag) does not lead to its ID")
    }
    let fresh = containers[0].newContext()
    let there: ManagedObject? = try fresh.existingObject(with: id)
    let isThere = store.graph[tag] != nil && !id.isTemporary
    guard (there != nil) == isThere else {
      throw CrewMismatch("the ID of \(tag) finds \(String(describing: there)) elsewhere")
    }
    if let temporary = workspace.temporaryIDs[tag] {
      let here: ManagedObject? = try workspace.context.existingObject(with: temporary)
      let elsewhere: ManagedObject? = try fresh.existingObject(with: temporary)
      guard here === object, elsewhere == nil else {
        throw CrewMismatch("the temporary ID of \(tag) finds a wrong object")
      }
    }
    if let there { guard there.objectID == id else { throw CrewMismatch("another ID") } }
    withExtendedLifetime(fresh) {}
  }

  // MARK: Predicates

  /// Returns the objects that a predicate evaluates in a context.
  ///
  /// The objects include unsaved changes. A stale context must have no unsaved changes, so the
  /// stored objects are returned for it.
  private func seen(_ workspace: CrewWorkspace) -> CrewGraph {
    guard isStale(workspace) else {
      var graph = workspace.view.now
      for tag in workspace.view.work.deleted { graph[tag] = nil }
      return graph
    }
    return (workspace.pinned ?? store).graph
  }

  func search(_ workspace: CrewWorkspace, _ step: CrewStep) throws {
    let isStale = isStale(workspace)
    // The reference model does not cover a stale context with unsaved changes.
    guard !isStale || !workspace.view.hasChanges else { return }
    guard !workspace.isMerging || !isStale else { return try merge(workspace, step) }
    let graph = seen(workspace)
    let query = CrewQuery.all[step.a % CrewQuery.all.count]
    let expected = Set(graph.rows.keys.filter { query.holds(graph, $0) })
    record("  \(query.name)")
    let count = try query.count(workspace.context)
    guard count == expected.count else {
      throw CrewMismatch("\(query.name): counts \(count) instead of \(expected.sorted())")
    }
    guard !isStale else { return }
    // The count may have discarded members that were read from a different generation.
    guard step.operation == .fetch else { return try expectSame(workspace, "after a count") }
    let found = Set(try query.fetch(workspace.context).map { workspace.tag($0) })
    guard found == expected else {
      throw CrewMismatch("\(query.name): \(found.sorted()) instead of \(expected.sorted())")
    }
    try expectSame(workspace, "after a fetch")
  }
}

/// A predicate, and its equivalent in the reference.
struct CrewQuery {
  let name: String
  let count: (ManagedObjectContext) throws -> Int
  let fetch: (ManagedObjectContext) throws -> [ManagedObject]
  let holds: (CrewGraph, Int) -> Bool

  private init<M: ManagedObject>(
    _ type: M.Type, _ format: String, _ kinds: Set<CrewKind>,
    _ holds: @escaping (CrewGraph, CrewRow) -> Bool
  ) {
    name = "\(type) where \(format)"
    func request() throws -> FetchRequest<M> {
      var request = FetchRequest<M>()
      request.predicate = try QueryPredicate(format: format)
      return request
    }
    count = { try $0.count(for: try request()) }
    fetch = { try $0.fetch(try request()) }
    self.holds = { graph, tag in
      graph[tag].map { kinds.contains($0.kind) && holds(graph, $0) } ?? false
    }
  }

  nonisolated(unsafe) static let all: [CrewQuery] = [
    CrewQuery(CrewMember.self, "code == 'a'", [.member, .chief]) { $1[.code] == .text("a") },
    CrewQuery(CrewMember.self, "code == nil", [.member, .chief]) { $1[.code] == .none },
    CrewQuery(CrewMember.self, "weight > 1", [.member, .chief]) {
      CrewAccess.number($1[.weight]) > 1
    },
    CrewQuery(CrewMember.self, "team != nil AND team.name == 'text 1'", [.member, .chief]) {
      graph, row in
      row[.team].first.flatMap { graph[$0] }.map { $0[.teamName] == .text("text 1") } ?? false
    },
    CrewQuery(CrewMember.self, "jobs.@count > 1", [.member, .chief]) { $1[.jobs].count > 1 },
    CrewQuery(CrewMember.self, "jobCount > 0", [.member, .chief]) {
      (CrewAccess.integer($1[.jobCount]) ?? 0) > 0
    },
    CrewQuery(CrewMember.self, "search BEGINSWITH 'a'", [.member, .chief]) {
      CrewAccess.text($1[.search])?.hasPrefix("a") ?? false
    },
    CrewQuery(CrewMember.self, "ANY tags.name == 'b'", [.member, .chief]) { graph, row in
      row[.tags].contains { graph[$0]?[.tagName] == .text("b") }
    },
    CrewQuery(CrewMember.self, "mate.mate == SELF", [.member, .chief]) { !$1[.mate].isEmpty },
    CrewQuery(CrewChief.self, "budget == nil", [.chief]) { $1[.budget] == .none },
    CrewQuery(CrewTeam.self, "members.@count == 0", [.team]) { $1[.members].isEmpty },
    CrewQuery(CrewTeam.self, "ANY members.title == 'Plain'", [.team]) { graph, row in
      row[.members].contains { graph[$0]?[.title] == .text("Plain") }
    },
    CrewQuery(CrewJob.self, "owner == nil AND labels.@count == 0", [.job]) {
      $1[.owner].isEmpty && $1[.labels].isEmpty
    },
    CrewQuery(CrewTag.self, "ANY jobs.owner.title == 'plain'", [.tag]) { graph, row in
      row[.tagJobs].contains { job in
        graph.targets(job, .owner).first.flatMap { graph[$0] }?[.title] == .text("plain")
      }
    },
    CrewQuery(CrewBadge.self, "holder.badge == SELF", [.badge]) { !$1[.holder].isEmpty },
    CrewQuery(CrewBadge.self, "stamp.serial < 9", [.badge]) {
      (CrewAccess.integer($1[.serial]) ?? 0) < 9
    },
    CrewQuery(CrewJob.self, "code == 'a'", [.job]) { $1[.jobCode] == .text("a") },
    CrewQuery(CrewTag.self, "ANY jobs.code == 'b'", [.tag]) { graph, row in
      row[.tagJobs].contains { graph[$0]?[.jobCode] == .text("b") }
    },
  ]
}
