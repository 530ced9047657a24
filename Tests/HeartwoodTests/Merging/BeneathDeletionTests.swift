import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

@Suite("Objects that another context relates to deleted objects")
struct BeneathDeletionTests {
  private let fixture: GraphFixture
  private let context: ManagedObjectContext
  private let others: ManagedObjectContext

  init() throws {
    fixture = try GraphFixture(crates)
    (context, others) = (fixture.context(), fixture.context())
  }

  private func own<Object: ManagedObject>(_ object: Object) throws -> Object {
    try #require(try context.existingObject(Object.self, with: object.objectID))
  }

  /// Deletes a tag while others add it to a crate, and returns both, as they are in the context.
  private func deletedTagOfCrate() throws -> (tag: CrateTag, crate: Crate) {
    let (tag, crate) = (CrateTag(context: others), Crate(context: others))
    try others.save()
    let (ownTag, ownCrate) = (try own(tag), try own(crate))
    context.delete(ownTag)
    crate.tags = [tag]
    try others.save()
    _ = try context.fetch(FetchRequest<Crate>())
    #expect(ownCrate.tags == [])
    return (ownTag, ownCrate)
  }

  @Test(.evidence("QG-27"), .evidence("C-06"))
  func `inserting a deleted object again shows members that others added on both sides`() throws {
    let (ownTag, ownCrate) = try deletedTagOfCrate()
    context.insert(ownTag)
    #expect(try context.fetch(FetchRequest<CrateTag>()) == [ownTag])
    #expect(ownTag.crates == [ownCrate] && ownCrate.tags == [ownTag] && !context.hasChanges)
    ownCrate.tags = []
    try context.save()
    #expect(ownTag.crates == [] && ownCrate.tags == [])
    let stored = try fixture.stored { try $0.fetch(FetchRequest<Crate>()).map(\.tags) }
    #expect(stored == [[]])
  }

  @Test(.evidence("C-06"), .evidence("C-10"), .evidence("C-17"), arguments: [false, true])
  func `a save leaves no object in a list that its delete rules have deleted`(
    mergesAutomatically: Bool
  ) throws {
    context.mergePolicy = .mergeByPropertyObjectTrump
    context.automaticallyMergesChangesFromParent = mergesAutomatically
    let (crate, item, tag) = (
      Crate(context: others), CrateItem(context: others), CrateTag(context: others)
    )
    try others.save()
    let (ownItem, ownTag) = (try own(item), try own(tag))
    context.delete(try own(crate))
    _ = ownTag.items
    ownTag.items = [ownItem]
    crate.items = [item]
    try others.save()
    try context.save()
    #expect(ownTag.items == [] && !context.hasChanges)
    let fresh = fixture.context()
    #expect(try fresh.fetch(FetchRequest<CrateTag>()).map(\.items) == [[]])
    #expect(try fresh.count(for: FetchRequest<CrateItem>()) == 0)
  }

  @Test(.evidence("G-01"), .evidence("QG-27"))
  func `redoing a deletion removes the object from members that others added`() throws {
    context.tracksUndo = true
    context.mergePolicy = .mergeByPropertyObjectTrump
    let (crate, tag) = (Crate(context: others), CrateTag(context: others))
    try others.save()
    context.delete(try own(crate))
    context.endUndoGroup()
    crate.tags = [tag]
    try others.save()
    let ownTag = try #require(try context.fetch(FetchRequest<CrateTag>()).first)
    context.undo()
    context.refreshAllObjects()
    #expect(ownTag.crates.count == 1)
    context.redo()
    context.endUndoGroup()
    #expect(ownTag.crates == [])
    let new = Crate(context: context)
    new.tags = [ownTag]
    try context.save()
    #expect(ownTag.crates == [new])
    let stored = try fixture.stored { try $0.fetch(FetchRequest<CrateTag>()).map(\.crates.count) }
    #expect(stored == [1])
  }

  @Test(.evidence("N-01"), .evidence("N-04"))
  func `a child reads no reference to an object that its parent has deleted`() throws {
    let child = fixture.child(of: context)
    let crate = Crate(context: others)
    try others.save()
    context.delete(try own(crate))
    let item = CrateItem(context: others)
    crate.items = [item]
    try others.save()
    #expect(try own(item).crate == nil)
    let childItem = try #require(try child.fetch(FetchRequest<CrateItem>()).first)
    #expect(childItem.crate == nil && !child.hasChanges)
  }

  @Test(.evidence("C-06"), .evidence("C-17"), .evidence("QG-27"))
  func `a save leaves no object in a list that others added and this context deleted`() throws {
    context.mergePolicy = .mergeByPropertyStoreTrump
    context.automaticallyMergesChangesFromParent = true
    let tag = CrateTag(context: others)
    let items = (0..<3).map { _ in CrateItem(context: others) }
    try others.save()
    context.delete(try own(items[0]))
    let ownTag = try own(tag)
    ownTag.items = [try own(items[1])]
    tag.items = [items[0], items[2]]
    try others.save()
    try context.save()
    let stored = try fixture.stored { try $0.fetch(FetchRequest<CrateTag>()).map(\.items.count) }
    #expect(ownTag.items.allSatisfy { !$0.isDeleted } && [ownTag.items.count] == stored)
  }

  @Test(.evidence("P-09"), .evidence("QG-27"), arguments: [false, true])
  func `predicates match no references to an object deleted in the context`(inChild: Bool) throws {
    let crate = Crate(context: others)
    let tags = (0..<3).map { _ in CrateTag(context: others) }
    let kept = CrateItem(context: others)
    crate.items = [kept]
    try others.save()
    let reader = inChild ? fixture.child(of: context) : context
    for object in [crate, tags[0], tags[1]] as [ManagedObject] {
      reader.delete(
        try #require(try reader.existingObject(ManagedObject.self, with: object.objectID)))
    }
    let item = CrateItem(context: others)
    crate.items = [kept, item]
    item.tags = [tags[0]]
    tags[1].mate = tags[2]
    try others.save()
    if inChild { context.refreshAllObjects() }
    func count(_ format: String) throws -> Int {
      try reader.count(
        for: FetchRequest<CrateItem>(where: try QueryPredicate<CrateItem>(format: format)))
    }
    #expect(try count("crate == nil") == 1 && count("crate != nil") == 0)
    #expect(try count("tags.@count == 0") == 1)
    let mates = FetchRequest<CrateTag>(where: #Predicate { $0.mate == nil })
    #expect(try reader.fetch(mates).map(\.objectID) == [tags[2].objectID])
    reader.rollback()
    #expect(try count("crate == nil") == 0 && count("tags.@count == 0") == 1)
    #expect(try reader.count(for: mates) == 1)
  }

  @Test(.evidence("P-09"), .evidence("QG-27"), arguments: [false, true])
  func `a child hides what it has deleted from objects that its parent relates to it`(
    isSaved: Bool
  ) throws {
    let child = fixture.child(of: context)
    let (tag, crate) = (CrateTag(context: context), Crate(context: context))
    if isSaved { try context.save() }
    for object in [tag, crate] as [ManagedObject] {
      child.delete(
        try #require(try child.existingObject(ManagedObject.self, with: object.objectID)))
    }
    let item = CrateItem(context: context)
    (item.tags, item.crate) = ([tag], crate)
    let own = try #require(try child.fetch(FetchRequest<CrateItem>()).first)
    #expect(own.tags == [] && own.crate == nil)
    for format in ["tags.@count == 0", "crate == nil"] {
      let predicate = try QueryPredicate<CrateItem>(format: format)
      #expect(try child.count(for: FetchRequest(where: predicate)) == 1, "\(format)")
    }
    #expect(
      try child.count(for: FetchRequest<CrateItem>(where: #Predicate { $0.tags.isEmpty })) == 1)
  }

  @Test(.evidence("C-06"), .evidence("N-04"))
  func `after its save a child shows no reference that its parent has refused`() throws {
    let child = fixture.child(of: context)
    let (crate, item) = (Crate(context: context), CrateItem(context: context))
    try context.save()
    let own = try #require(try child.existingObject(CrateItem.self, with: item.objectID))
    own.crate = try child.existingObject(Crate.self, with: crate.objectID)
    context.delete(crate)
    try child.save()
    #expect(item.crate == nil && own.crate == nil && !child.hasChanges)
  }

  @Test(.evidence("QG-27"), .evidence("S-07"))
  func `a rollback shows members that others added to deleted objects`() throws {
    let (ownTag, ownCrate) = try deletedTagOfCrate()
    context.rollback()
    #expect(ownCrate.tags == [ownTag])
  }

  @Test(.evidence("QG-27"), .evidence("C-10"), arguments: [MergePolicy.Each.storeTrump, .rollback])
  func `a save that keeps an object shows it as a member again`(policy: MergePolicy.Each) throws {
    context.mergePolicy = policy.policy
    let (ownTag, ownCrate) = try deletedTagOfCrate()
    try context.save()
    #expect(!ownTag.isDeleted && ownCrate.tags == [ownTag] && ownTag.crates == [ownCrate])
  }

  @Test(.evidence("QG-27"), .evidence("R-19"))
  func `a count of members omits deleted objects that others added`() throws {
    let (tag, crate) = (CrateTag(context: others), Crate(context: others))
    try others.save()
    context.delete(try own(tag))
    crate.tags = [tag]
    try others.save()
    let ownCrate = try #require(try context.fetch(FetchRequest<Crate>()).first)
    #expect(ownCrate.$tags.count == 0)
  }

  @Test(.evidence("QG-27"), .evidence("C-02"))
  func `a merged deletion leaves an edited object until it is saved`() throws {
    let crate = Crate(context: others)
    try others.save()
    let token = try fixture.container.currentHistoryToken
    let ownCrate = try own(crate)
    ownCrate.text = "edited"
    others.delete(crate)
    try others.save()
    for transaction in try fixture.container.fetchHistory(after: token) {
      try context.mergeChanges(from: transaction)
    }
    #expect(ownCrate.text == "edited" && context.updatedObjects == [ownCrate])
    let error = #expect(throws: ObjectGraphError.self) { try context.save() }
    #expect(error?.kind == .mergeConflict)
  }
}
