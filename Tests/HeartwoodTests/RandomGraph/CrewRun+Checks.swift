import Heartwood

extension CrewRun {
  /// Compares all objects of a context with its reference.
  func expectSame(_ workspace: CrewWorkspace, _ moment: String) throws {
    do {
      try expectSame(workspace, Set(workspace.view.live))
    } catch let mismatch as CrewMismatch {
      throw CrewMismatch("\(moment), context \(workspace.number): \(mismatch)")
    }
  }

  /// Compares the given objects of a context with the reference.
  func expectSame(_ workspace: CrewWorkspace, _ tags: Set<Int>) throws {
    for tag in tags {
      guard let row = workspace.view.now[tag] else { continue }
      try expectSame(
        try workspace.object(tag), tag, row, in: workspace.view.now, workspace.context
      ) { workspace.tag($0) }
    }
  }

  /// Compares one object with a row of the reference.
  func expectSame(
    _ object: ManagedObject, _ tag: Int, _ row: CrewRow, in graph: CrewGraph,
    _ context: ManagedObjectContext, number: (ManagedObject) -> Int
  ) throws {
    for field in row.kind.fields {
      let value = CrewAccess.value(field, of: object)
      guard value == row[field] else {
        throw CrewMismatch("\(tag).\(field) is \(value) instead of \(row[field])")
      }
    }
    for link in row.kind.links {
      let targets = CrewAccess.targets(link, of: object)
      // The object may refer to an object that was deleted here, even if another context has
      // restored its row.
      if link.inverse == nil, targets.contains(where: { $0.managedObjectContext == nil }) {
        continue
      }
      let expected = graph.shown(row, link)
      var found = targets.map(number)
      if link.inverse == nil { found = found.filter { graph[$0] != nil } }
      let isSame = found == expected || !link.isOrdered && Set(found) == Set(expected)
      guard isSame, found.count == expected.count else {
        throw CrewMismatch("\(tag).\(link) is \(found) instead of \(expected)")
      }
    }
    guard object.managedObjectContext === context else {
      throw CrewMismatch("\(tag) does not belong to its context")
    }
  }

  /// Compares the sets of changed objects of a context with the reference.
  func expectSameSets(_ workspace: CrewWorkspace) throws {
    let (context, view) = (workspace.context, workspace.view)
    func expect(_ name: String, _ found: Set<Int>, _ expected: Set<Int>) throws {
      guard found != expected else { return }
      throw CrewMismatch(
        "context \(workspace.number): \(name) are \(found.sorted()) "
          + "instead of \(expected.sorted())"
      )
    }
    try expect("insertedObjects", workspace.tags(context.insertedObjects), Set(view.work.inserted))
    try expect("deletedObjects", workspace.tags(context.deletedObjects), view.work.deleted)
    let updated = workspace.tags(context.updatedObjects)
    // `updatedObjects` may also contain objects that were set to their current values.
    let missing = view.edited.subtracting(updated)
    try expect("updatedObjects that are missing", missing, [])
  }

  /// Expects the two sides of each relationship to agree in a context.
  func expectAgreement(_ workspace: CrewWorkspace, _ moment: String) throws {
    // Skip objects whose rows are missing, because the store has no other side to compare.
    for tag in workspace.view.live where store.graph[tag] != nil {
      guard workspace.handlesObject(tag), let row = workspace.view.now[tag] else { continue }
      let object = try workspace.object(tag)
      guard !object.isDeleted else { continue }
      for link in row.kind.links {
        guard let inverse = link.inverse else { continue }
        for other in CrewAccess.targets(link, of: object) {
          guard !CrewAccess.targets(inverse, of: other).contains(object) else { continue }
          throw CrewMismatch(
            "\(moment): \(tag).\(link) has \(workspace.tag(other)), whose \(inverse) lacks it")
        }
      }
    }
  }

  // MARK: The store

  /// Reads the store in a new context, and returns its content in the form of the reference.
  func stored() throws -> CrewGraph {
    let context = containers[containers.count - 1].newContext()
    return try withExtendedLifetime(context) {
      var graph = CrewGraph()
      for object in try CrewAccess.all(context) {
        guard let kind = CrewAccess.kind(of: object), let tag = tagsByID[object.objectID] else {
          throw CrewMismatch("the store has an unknown object: \(object.objectID)")
        }
        guard CrewAccess.markCount(of: object) ?? 1 == 1 else {
          throw CrewMismatch("the store has a value of \(tag) that `awakeFromFetch` has set")
        }
        var row = CrewRow(kind)
        for field in kind.fields { row[field] = CrewAccess.value(field, of: object) }
        for link in kind.links {
          let targets = CrewAccess.targets(link, of: object).map { tagsByID[$0.objectID] ?? -1 }
          // Use a fixed order, so that a seed always yields the same steps.
          row[link] = link.isOrdered ? targets : targets.sorted()
        }
        graph[tag] = row
      }
      return graph
    }
  }

  /// Compares the store with its reference.
  func expectStored(_ moment: String) throws {
    let found = try stored()
    try expectSame(found, store.graph, moment)
  }

  func expectSame(_ found: CrewGraph, _ expected: CrewGraph, _ moment: String) throws {
    let (tags, wanted) = (Set(found.rows.keys), Set(expected.rows.keys))
    guard tags == wanted else {
      throw CrewMismatch(
        "\(moment): the store has the extra rows \(tags.subtracting(wanted).sorted()) and lacks "
          + "\(wanted.subtracting(tags).sorted())")
    }
    for (tag, row) in expected.rows {
      guard let other = found[tag], other.kind == row.kind else {
        throw CrewMismatch("\(moment): \(tag) has another class in the store")
      }
      for field in row.kind.fields where other[field] != row[field] {
        throw CrewMismatch(
          "\(moment): \(tag).\(field) is stored as \(other[field]) instead of \(row[field])")
      }
      for link in row.kind.links {
        let (there, here) = (found.shown(other, link), expected.shown(row, link))
        guard there != here else { continue }
        if !link.isOrdered, Set(there) == Set(here), there.count == here.count { continue }
        throw CrewMismatch(
          "\(moment): \(tag).\(link) is stored as \(there) instead of \(here)")
      }
    }
  }

  /// Expects the two sides of each relationship to agree in a graph.
  func expectAgreement(_ graph: CrewGraph, _ moment: String) throws {
    for (tag, row) in graph.rows {
      for link in row.kind.links {
        guard let inverse = link.inverse else { continue }
        for other in row[link] where !graph.targets(other, inverse).contains(tag) {
          throw CrewMismatch(
            "\(moment): \(tag).\(link) has \(other), whose \(inverse) is "
              + "\(graph.targets(other, inverse))")
        }
      }
    }
  }

  // MARK: History

  /// Compares the new history transactions with the changes in the reference.
  func expectHistory(_ difference: CrewDifference, isExact: Bool, _ moment: String) throws {
    let new = try containers[0].fetchHistory(after: historyToken)
    historyToken = try containers[0].currentHistoryToken
    transactions[store.generation, default: []] += new
    guard new.count == (difference.isEmpty ? 0 : 1) || !isExact && difference.isEmpty
    else {
      throw CrewMismatch("\(moment): the history has \(new.count) transactions")
    }
    var found = CrewDifference()
    for change in new.flatMap(\.changes) {
      guard let tag = tagsByID[change.objectID] else {
        throw CrewMismatch("\(moment): the history names the unknown \(change.objectID)")
      }
      switch change.kind {
      case .insert: found.inserted.insert(tag)
      case .update(let names): found.updated[tag, default: []].formUnion(names)
      case .delete: found.deleted.insert(tag)
      }
    }
    guard found.inserted == difference.inserted, found.deleted == difference.deleted else {
      throw CrewMismatch(
        "\(moment): the history reports as inserted \(found.inserted.sorted()), as deleted "
          + "\(found.deleted.sorted()), instead of \(difference.inserted.sorted()), "
          + "\(difference.deleted.sorted())")
    }
    for (tag, names) in difference.updated {
      let reported = (found.updated[tag] ?? []).subtracting(["search", "jobCount", "size"])
      // Writing a row may clear its reference to a missing row.
      let open: Set<String> = ["mentor"]
      let isSame = reported.subtracting(open) == names.subtracting(open)
      guard isExact ? isSame : reported.isSuperset(of: names.subtracting(open)) else {
        throw CrewMismatch(
          "\(moment): the history says of \(tag) \(reported.sorted()) instead of \(names.sorted())"
        )
      }
    }
    for tag in found.updated.keys
    where difference.updated[tag] == nil && !difference.computed.contains(tag) {
      guard !isExact else { throw CrewMismatch("\(moment): the history updates \(tag)") }
    }
    for tag in difference.computed where found.updated[tag] == nil {
      throw CrewMismatch("\(moment): the history omits derived changes of \(tag)")
    }
  }
}
