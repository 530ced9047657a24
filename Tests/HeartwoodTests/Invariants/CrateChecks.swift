import Foundation
import Heartwood

/// Checks the invariants of a context after a step.
struct CrateChecks {
  let context: ManagedObjectContext
  let container: PersistentContainer
  /// A Boolean value that indicates whether the context is new.
  ///
  /// A new context shows exactly the content of the store.
  var showsStore = false
  /// A Boolean value that indicates whether other contexts may have changed objects that have edits
  /// in this context.
  ///
  /// Fetches do not reread such objects.
  var isStale = false
  private let parent: ManagedObjectContext?
  /// A context that shows the generation of the checked context without any edits.
  private let reader: ManagedObjectContext

  /// - Parameter parent: The parent of the context, if it is a child context.
  init(
    _ context: ManagedObjectContext, _ container: PersistentContainer,
    childOf parent: ManagedObjectContext? = nil
  ) {
    self.context = context
    self.container = container
    self.parent = parent
    let token = (parent ?? context).queryGenerationToken
    reader =
      token.flatMap { try? container.newContext(pinnedTo: $0) } ?? container.newContext()
  }

  func check() throws {
    let objects = try CrateText.objects(context)
    try expect(Set(objects).count == objects.count, "fetches contain no object twice")
    try checkRelationships(Set(objects))
    if showsStore {
      try checkDerived(objects)
      try checkUnique(objects)
    }
    try checkCounts(objects)
    try checkPredicates(objects)
    if !isStale { try checkRelatedPredicates(objects) }
    try checkChangedObjects()
    try expect(context.faultError == nil, "rows can be read", "\(context.faultError as Any)")
  }

  // MARK: Relationships

  private func checkRelationships(_ objects: Set<ManagedObject>) throws {
    for object in objects {
      let name = CrateText.name(object)
      try expect(!object.isDeleted, "fetches find no deleted objects", name)
      for link in CrateLink.all(of: object) {
        let details = "\(name).\(link.name) is \(CrateText.list(link.members))"
        try expect(
          Set(link.members).count == link.members.count, "no member is listed twice", details)
        for member in link.members where !mayDisagree(object, member) {
          let details = "\(details), and \(CrateText.name(member))"
          try expect(!member.isDeleted, "no member is deleted", details)
          try expect(
            member.managedObjectContext === context, "members belong to the context", details)
          try expect(objects.contains(member), "fetches find all members", details)
          let inverse = link.inverse(member)
          try expect(
            inverse.contains { $0 === object }, "both sides agree",
            "\(details) has \(CrateText.list(inverse))")
        }
      }
    }
  }

  /// Returns whether the two sides of a relationship may differ.
  ///
  /// A fetch does not reread objects with edits (F-09). An object that was changed here and deleted
  /// by another context (QG-27) or by the parent (N-04) keeps its references.
  private func mayDisagree(_ one: ManagedObject, _ other: ManagedObject) -> Bool {
    guard !showsStore, isEdited(one) || isEdited(other) else { return false }
    return isStale || isMissing(one) || isMissing(other)
  }

  /// Returns whether an object was deleted by another context or by the parent.
  func isMissing(_ object: ManagedObject) -> Bool {
    isWithoutRow(object) || isDeletedInParent(object)
  }

  private func isDeletedInParent(_ object: ManagedObject) -> Bool {
    guard let parent else { return false }
    return parent.deletedObjects.contains { $0.objectID == object.objectID }
  }

  /// Returns whether an object has edits in the context or in its parent.
  private func isEdited(_ object: ManagedObject) -> Bool {
    if object.hasChanges { return true }
    let original = parent?.registeredObject(ManagedObject.self, for: object.objectID)
    return original?.hasChanges == true
  }

  private func isWithoutRow(_ object: ManagedObject) -> Bool {
    !object.isInserted
      && (try? reader.existingObject(ManagedObject.self, with: object.objectID)) == nil
  }

  // MARK: The store

  private func checkDerived(_ objects: [ManagedObject]) throws {
    for object in objects {
      let details = CrateText.line(object, withDerived: true)
      switch object {
      case let crate as Crate:
        try expect(crate.itemCount == crate.items.count, "derived counts are exact", details)
        let total = crate.items.reduce(0) { $0 + $1.number }
        try expect(crate.total == total, "derived sums are exact", "\(total), \(details)")
      case let item as CrateItem:
        try expect(item.crateText == item.crate?.text, "derived copies are exact", details)
      case let tag as CrateTag:
        let count = CrewMark.count(tag.text)
        try expect(count == 1, "awakeFromFetch stores no values", "\(count), \(details)")
      default: break
      }
    }
  }

  private func checkUnique(_ objects: [ManagedObject]) throws {
    var values: Set<String> = []
    for object in objects {
      let entity = object is Crate ? "Crate" : "\(type(of: object))"
      let seal = (object as? SealedCrate)?.seal.map { "seal \($0)" }
      let code = (object as? any CrateObject)?.code.map { "\(entity) \($0)" }
      for value in [seal, code].compactMap(\.self) {
        try expect(values.insert(value).inserted, "unique values are unique", value)
      }
    }
  }

  // MARK: Requests

  private func checkCounts(_ objects: [ManagedObject]) throws {
    func check<M: ManagedObject>(_ type: M.Type) throws {
      let (count, expected) = (
        try context.count(for: FetchRequest<M>()), objects.count { $0 is M }
      )
      try expect(count == expected, "counts equal fetches", "\(type): \(count), not \(expected)")
    }
    try check(Crate.self)
    try check(SealedCrate.self)
    try check(CrateItem.self)
    try check(CrateTag.self)
    try check(CrateLock.self)
  }

  private func checkPredicates(_ objects: [ManagedObject]) throws {
    let two = 2
    let loose = FetchRequest<CrateItem>(where: #Predicate { $0.crate == nil })
    try check(loose, objects) { $0.crate == nil }
    let roots = FetchRequest<CrateTag>(where: #Predicate { $0.parent == nil && $0.lock == nil })
    try check(roots, objects) { $0.parent == nil && $0.lock == nil }
    let items = FetchRequest<CrateItem>(where: #Predicate { $0.number == two })
    try check(items, objects) { $0.number == two }
    let crates = FetchRequest<Crate>(where: #Predicate { $0.number >= two })
    try check(crates, objects) { $0.number >= two }
    for code in ["code 0", "code 1"] {
      let request = FetchRequest<CrateItem>(where: #Predicate { $0.code == code })
      try check(request, objects) { $0.code == code }
      guard showsStore else { continue }
      let found = try context.existingObject(where: \CrateItem.code, equals: code)
      let expected = objects.first { ($0 as? CrateItem)?.code == code }
      try expect(found === expected, "lookups find the object", code)
    }
  }

  private func checkRelatedPredicates(_ objects: [ManagedObject]) throws {
    let two = 2
    let several = FetchRequest<Crate>(where: #Predicate { $0.items.count > 1 })
    try check(several, objects) { $0.items.count > 1 }
    let onItem = FetchRequest<CrateTag>(
      where: #Predicate { $0.items.contains { $0.number == two } })
    try check(onItem, objects) { $0.items.contains { $0.number == two } }
    let mated = FetchRequest<CrateTag>(where: #Predicate { $0.mate != nil })
    try check(mated, objects) { $0.mate != nil }
    let alone = FetchRequest<CrateTag>(
      where: #Predicate { $0.friends.isEmpty && $0.children.isEmpty })
    try check(alone, objects) { $0.friends.isEmpty && $0.children.isEmpty }
    let inCrate = FetchRequest<CrateItem>(where: #Predicate { $0.crate?.number == two })
    try check(inCrate, objects) { $0.crate?.number == two }
    guard let crate = objects.first(where: { $0 is Crate }) else { return }
    let inFirst = FetchRequest<CrateItem>(
      where: try QueryPredicate<CrateItem>(format: "crate == %@", crate.objectID))
    try check(inFirst, objects) { $0.crate === crate }
  }

  /// Expects a request to find the objects for which `holds` returns `true`.
  private func check<M: ManagedObject>(
    _ request: FetchRequest<M>, _ objects: [ManagedObject], _ holds: (M) -> Bool
  ) throws {
    let found = try context.fetch(request)
    let expected = objects.compactMap { $0 as? M }.filter(holds)
    let details =
      "\(request.predicate as Any): \(CrateText.list(found)), "
      + "not \(CrateText.list(expected))"
    try expect(
      Set(found) == Set(expected) && found.count == expected.count,
      "predicates agree with objects", details)
    let ids = try context.fetchObjectIDs(request)
    try expect(ids == found.map(\.objectID), "fetched IDs equal fetched objects", details)
    let count = try context.count(for: request)
    try expect(count == found.count, "predicates count what they find", "\(count): \(details)")
  }

  // MARK: Unsaved changes

  private func checkChangedObjects() throws {
    let sets = [context.insertedObjects, context.updatedObjects, context.deletedObjects]
    let all = sets.reduce(Set()) { $0.union($1) }
    let details = CrateText.changes(context)
    // The set of deleted objects also includes objects deleted in other contexts (I-01).
    let hasEdits = !sets[0].isEmpty || !sets[1].isEmpty
    let isExact = context.hasChanges ? !all.isEmpty : !hasEdits
    try expect(isExact, "hasChanges agrees with the sets", details)
    try expect(
      sets.reduce(0) { $0 + $1.count } == all.count, "an object is in one set of changes", details)
    try expect(all.allSatisfy(\.hasChanges), "changed objects have changes", details)
  }
}
