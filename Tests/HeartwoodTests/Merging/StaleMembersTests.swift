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
}
