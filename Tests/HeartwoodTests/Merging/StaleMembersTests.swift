import Heartwood
import HeartwoodTestSupport
import Testing

@Suite("Members of objects that were not reread")
struct StaleMembersTests {
  @Test(.evidence("S-02"), .evidence("C-06"), arguments: [false, true])
  func `a forced refresh discards an edit on both sides of a relationship`(ofOwner: Bool) throws {
    let fixture = try GraphFixture(crates)
    let context = fixture.context()
    let (crate, item) = (Crate(context: context), CrateItem(context: context))
    try context.save()
    crate.items = [item]
    let object = ofOwner ? crate as ManagedObject : item
    #expect { try context.refresh(object, mergeChanges: false) } throws: {
      ($0 as? ObjectGraphError)?.kind == .unsavedRelationships
    }
    try context.refresh(object, mergeChanges: false, force: true)
    #expect(crate.items == [] && item.crate == nil && !context.hasChanges)
    context.refreshAllObjects()
    try context.save()
    #expect(crate.items == [] && item.crate == nil)
    let stored = try fixture.stored { try $0.fetch(FetchRequest<Crate>()).map(\.items) }
    #expect(stored == [[]])
  }

  @Test(
    .evidence("R-01"), .evidence("C-06"), .evidence("C-17"), arguments: MergePolicy.Each.allCases)
  func `a member that others have removed is added again only once`(
    policy: MergePolicy.Each
  ) throws {
    let fixture = try GraphFixture(crates)
    let (context, others) = (fixture.context(), fixture.context())
    context.mergePolicy = policy.policy
    let (crate, item) = (Crate(context: others), CrateItem(context: others))
    crate.items = [item]
    try others.save()
    let own = try #require(try context.fetch(FetchRequest<Crate>()).first)
    #expect(own.items.count == 1)
    // Because of this edit, fetches do not reread the crate.
    own.number = 1
    item.crate = nil
    try others.save()
    let ownItem = try #require(try context.fetch(FetchRequest<CrateItem>()).first)
    ownItem.crate = own
    #expect(own.items == [ownItem])
    do {
      try context.save()
    } catch let error as ObjectGraphError where error.kind == .mergeConflict {
      #expect(policy == .error && own.items == [ownItem])
      context.rollback()
      context.refreshAllObjects()
    }
    try fixture.stored { fresh in
      let stored = try #require(try fresh.fetch(FetchRequest<Crate>()).first)
      #expect(stored.items.count == own.items.count && stored.itemCount == own.items.count)
      #expect(own.itemCount == own.items.count && own.items.count <= 1)
      #expect((ownItem.crate === own) == (own.items == [ownItem]))
    }
  }

  @Test(.evidence("N-02"), .evidence("C-06"))
  func `a child's save sets no reference in its parent to an object that others have deleted`()
    throws
  {
    let fixture = try GraphFixture(crates)
    let (context, others) = (fixture.context(), fixture.context())
    let (crate, item) = (Crate(context: others), CrateItem(context: others))
    try others.save()
    let child = fixture.child(of: context)
    let own = try #require(try context.existingObject(Crate.self, with: crate.objectID))
    let childCrate = try #require(try child.existingObject(Crate.self, with: crate.objectID))
    let childItem = try #require(try child.existingObject(CrateItem.self, with: item.objectID))
    others.delete(item)
    try others.save()
    childCrate.favourite = childItem
    try child.save()
    #expect(own.favourite == nil && !context.hasChanges)
  }

  /// The ways to read an edited object again.
  enum Rereading: CaseIterable { case refresh, refreshAll, merge, save }

  @Test(
    .evidence("S-03"), .evidence("C-06"), .evidence("C-17"), arguments: Rereading.allCases,
    [false, true])
  func `an edit to a member moved by another context is kept on both sides`(
    rereading: Rereading, adds: Bool
  ) throws {
    let fixture = try GraphFixture(crates)
    let (context, others) = (fixture.context(), fixture.context())
    context.mergePolicy = .mergeByPropertyObjectTrump
    let (crate, tag) = (Crate(context: others), CrateTag(context: others))
    let (item, friend) = (CrateItem(context: others), CrateTag(context: others))
    if adds { (crate.items, crate.tags, tag.friends) = ([item], [tag], [friend]) }
    try others.save()
    let ownCrate = try #require(try context.fetch(FetchRequest<Crate>()).first)
    let ownTag = try #require(try context.existingObject(CrateTag.self, with: tag.objectID))
    _ = (ownCrate.items, ownCrate.tags, ownTag.friends)
    (ownCrate.number, ownTag.number) = (1, 1)
    (crate.items, crate.tags, tag.friends) = adds ? ([], [], []) : ([item], [tag], [friend])
    try others.save()
    let ownItem = try #require(try context.fetch(FetchRequest<CrateItem>()).first)
    let ownFriend = try #require(
      try context.fetch(FetchRequest<CrateTag>()).first { $0.objectID == friend.objectID })
    ownItem.crate = adds ? ownCrate : nil
    ownFriend.friends = adds ? [ownTag] : []
    switch rereading {
    case .refresh:
      for object in [ownCrate, ownTag] { try context.refresh(object, mergeChanges: true) }
    case .refreshAll: context.refreshAllObjects()
    case .merge:
      let history = try fixture.container.fetchHistory(after: nil as PersistentHistoryToken?)
      for transaction in history { try context.mergeChanges(from: transaction) }
    case .save: break
    }
    func check() {
      #expect(ownCrate.items == (adds ? [ownItem] : []) && (ownItem.crate === ownCrate) == adds)
      #expect(ownTag.friends == (adds ? [ownFriend] : []))
      #expect(ownFriend.friends == (adds ? [ownTag] : []))
    }
    check()
    try context.save()
    check()
    let stored = try fixture.stored { try $0.fetch(FetchRequest<Crate>()).map(\.items.count) }
    #expect(stored == [adds ? 1 : 0])
  }
}
