import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

/// The object to which a context gives the code of an item that the same save deletes.
private enum CodeClaim: CaseIterable { case new, existing, newBesideEdit }

@Suite("Unique values of rows that delete rules delete")
struct UpsertDeletionTests {
  /// Stores a crate and two items outside the crate.
  private func store() throws -> (fixture: GraphFixture, first: ManagedObjectID) {
    let fixture = try GraphFixture(crates)
    let first = try fixture.saved { context in
      Crate(context: context).code = "c"
      CrateItem(context: context).code = "b"
      let item = CrateItem(context: context)
      item.code = "a"
      return item
    }
    return (fixture, first.objectID)
  }

  /// Puts the item with code "a" into the crate in another context.
  private func fillCrate(_ fixture: GraphFixture) throws {
    try fixture.saved { context in
      let item = try item("a", context)
      item?.crate = try context.fetch(FetchRequest<Crate>()).first
    }
  }

  private func item(_ code: String, _ context: ManagedObjectContext) throws -> CrateItem? {
    try context.existingObject(where: \CrateItem.code, equals: code)
  }

  @Test(
    .evidence("C-13"), .evidence("C-03"), .evidence("C-10"), .evidence("C-14"),
    arguments: CodeClaim.allCases, MergePolicy.Each.allCases)
  fileprivate func `can be given to other objects in the same save`(
    claim: CodeClaim, policy: MergePolicy.Each
  ) throws {
    let (fixture, first) = try store()
    let context = fixture.context()
    context.mergePolicy = policy.policy
    for crate in try context.fetch(FetchRequest<Crate>()) { context.delete(crate) }
    if claim == .newBesideEdit { try item("a", context)?.number = 5 }
    try fillCrate(fixture)
    let claimant = claim == .existing ? try item("b", context) : CrateItem(context: context)
    claimant?.code = "a"
    let isConflict = policy == .error || policy.keepsStore && claim == .existing
    guard !isConflict else {
      let error = #expect(throws: ObjectGraphError.self) { try context.save() }
      #expect(error?.kind == (policy == .error ? .mergeConflict : .constraintConflict))
      return
    }
    try context.save()
    // If the policy keeps the crate, it keeps the item. With `overwrite`, the edit takes the item
    // out of the crate.
    let isKept = policy.keepsStore || policy == .overwrite && claim == .newBesideEdit
    let fresh = fixture.context()
    let stored = try item("a", fresh)
    #expect(stored != nil && stored?.objectID == claimant?.objectID)
    #expect((stored?.objectID == first) == isKept)
    #expect(try fresh.count(for: FetchRequest<Crate>()) == (policy.keepsStore ? 1 : 0))
    #expect((stored?.crate != nil) == policy.keepsStore)
    let count = claim == .existing ? 1 : 2
    #expect(try fresh.count(for: FetchRequest<CrateItem>()) == count)
  }

  @Test(.evidence("C-13"), .evidence("C-03"))
  func `can be given to a new object if a custom policy deletes the owner`() throws {
    let (fixture, first) = try store()
    let context = fixture.context()
    context.mergePolicy = .custom { $0.isDeleted = true }
    try context.fetch(FetchRequest<Crate>()).first?.text = "edited"
    try fillCrate(fixture)
    let new = CrateItem(context: context)
    new.code = "a"
    try context.save()
    let fresh = fixture.context()
    let stored = try #require(try item("a", fresh))
    #expect(stored.objectID == new.objectID && stored.objectID != first)
    #expect(try fresh.count(for: FetchRequest<Crate>()) == 0)
    #expect(try fresh.count(for: FetchRequest<CrateItem>()) == 2)
  }
}
