import Heartwood

extension CrewRun {
  /// Compares a complete context with its reference, which loads whatever was not loaded.
  func expectSame(_ workspace: CrewWorkspace, _ moment: String) throws {
    do {
      try expectSame(workspace, Set(workspace.view.live))
    } catch let mismatch as CrewMismatch {
      throw CrewMismatch("\(moment), context \(workspace.number): \(mismatch)")
    }
  }

  /// Compares objects of a context.
  func expectSame(_ workspace: CrewWorkspace, _ tags: Set<Int>) throws {
    for tag in tags {
      guard let row = workspace.view.now[tag] else { continue }
      try expectSame(
        try workspace.object(tag), tag, row, in: workspace.view.now, workspace.context
      ) { workspace.tag($0) }
    }
  }

  /// Compares one object with a row.
  func expectSame(
    _ object: ManagedObject, _ tag: Int, _ row: CrewRow, in graph: CrewGraph,
    _ context: ManagedObjectContext, number: (ManagedObject) -> Int
  ) throws {
    for field in row.kind.fields {
      let value = CrewAccess.value(field, of: object)
      guard value == row[field] else {
        throw CrewMismatch("\(tag).\(field) is \(value) and should be \(row[field])")
      }
    }
    for link in row.kind.links {
      let targets = CrewAccess.targets(link, of: object)
      // An object that was deleted here is retained, although others have restored its row.
      if link.inverse == nil, targets.contains(where: { $0.managedObjectContext == nil }) {
        continue
      }
      let expected = graph.shown(row, link)
      var found = targets.map(number)
      if link.inverse == nil { found = found.filter { graph[$0] != nil } }
      let isSame = found == expected || !link.isOrdered && Set(found) == Set(expected)
      guard isSame, found.count == expected.count else {
        throw CrewMismatch("\(tag).\(link) is \(found) and should be \(expected)")
      }
    }
    guard object.managedObjectContext === context else {
      throw CrewMismatch("\(tag) is not of its context")
    }
  }

  /// Compares the lists of changed objects of a context.
  func expectSameSets(_ workspace: CrewWorkspace) throws {
    let (context, view) = (workspace.context, workspace.view)
    func expect(_ name: String, _ found: Set<Int>, _ expected: Set<Int>) throws {
      guard found != expected else { return }
      throw CrewMismatch(
        "context \(workspace.number): \(name) are \(found.sorted()) "
          + "and should be \(expected.sorted())"
      )
    }
    try expect("insertedObjects", workspace.tags(context.insertedObjects), Set(view.work.inserted))
    try expect("deletedObjects", workspace.tags(context.deletedObjects), view.work.deleted)
    let updated = workspace.tags(context.updatedObjects)
    // Objects that were set to their current values count as updated, too.
    let missing = view.edited.subtracting(updated)
    try expect("updatedObjects that are missing", missing, [])
  }

  /// Expects both sides of all relationships to agree in a context.
  func expectAgreement(_ workspace: CrewWorkspace, _ moment: String) throws {
    // An object whose row is missing has nothing to agree with.
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

  /// Returns the content of a new context, by the numbers of the reference.
  func stored() throws -> CrewGraph {
    let context = containers[containers.count - 1].newContext()
    return try withExtendedLifetime(context) {
      var graph = CrewGraph()
      for object in try CrewAccess.all(context) {
        guard let kind = CrewAccess.kind(of: object), let tag = tagsByID[object.objectID] else {
          throw CrewMismatch("the store has an object that nobody made: \(object.objectID)")
        }
        var row = CrewRow(kind)
        for field in kind.fields { row[field] = CrewAccess.value(field, of: object) }
        for link in kind.links {
          let targets = CrewAccess.targets(link, of: object).map { tagsByID[$0.objectID] ?? -1 }
          // In a fixed order, so that a seed yields the same steps each time.
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
        "\(moment): the store has \(tags.subtracting(wanted).sorted()) and should not, and lacks "
          + "\(wanted.subtracting(tags).sorted())")
    }
    for (tag, row) in expected.rows {
      guard let other = found[tag], other.kind == row.kind else {
        throw CrewMismatch("\(moment): \(tag) is of another class in the store")
      }
      for field in row.kind.fields where other[field] != row[field] {
        throw CrewMismatch(
          "\(moment): \(tag).\(field) is stored as \(other[field]) and should be \(row[field])")
      }
      for link in row.kind.links {
        let (there, here) = (found.shown(other, link), expected.shown(row, link))
        guard there != here else { continue }
        if !link.isOrdered, Set(there) == Set(here), there.count == here.count { continue }
        throw CrewMismatch(
          "\(moment): \(tag).\(link) is stored as \(there) and should be \(here)")
      }
    }
  }

  /// Expects both sides of all relationships to agree in a graph.
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

  /// Compares the new transactions of the history with the changes of the reference.
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
        throw CrewMismatch("\(moment): the history names \(change.objectID), which nobody made")
      }
      switch change.kind {
      case .insert: found.inserted.insert(tag)
      case .update(let names): found.updated[tag, default: []].formUnion(names)
      case .delete: found.deleted.insert(tag)
      }
    }
    guard found.inserted == difference.inserted, found.deleted == difference.deleted else {
      throw CrewMismatch(
        "\(moment): the history has inserted \(found.inserted.sorted()), deleted "
          + "\(found.deleted.sorted()), and should \(difference.inserted.sorted()), "
          + "\(difference.deleted.sorted())")
    }
    for (tag, names) in difference.updated {
      let reported = (found.updated[tag] ?? []).subtracting(["search", "jobCount", "size"])
      // A reference to a missing row may be cleared whenever its own row is written.
      let open: Set<String> = ["mentor"]
      let isSame = reported.subtracting(open) == names.subtracting(open)
      guard isExact ? isSame : reported.isSuperset(of: names.subtracting(open)) else {
        throw CrewMismatch(
          "\(moment): the history says of \(tag) \(reported.sorted()), and should \(names.sorted())"
        )
      }
    }
    for tag in found.updated.keys
    where difference.updated[tag] == nil && !difference.computed.contains(tag) {
      guard !isExact else { throw CrewMismatch("\(moment): the history has updated \(tag)") }
    }
    for tag in difference.computed where found.updated[tag] == nil {
      throw CrewMismatch("\(moment): the history does not say what was computed for \(tag)")
    }
  }
}
