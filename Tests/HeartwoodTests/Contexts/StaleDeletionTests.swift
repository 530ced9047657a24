import Heartwood
import HeartwoodTestSupport
import Testing

/// A relationship between an owner and a member.
enum StaleLink: CaseIterable {
  case reference, list, set, pair

  func makeOwner(_ context: ManagedObjectContext) -> ManagedObject {
    switch self {
    case .reference, .set: Crate(context: context)
    case .list: CrateItem(context: context)
    case .pair: CrateTag(context: context)
    }
  }

  func makeMember(_ context: ManagedObjectContext) -> ManagedObject {
    self == .reference ? CrateItem(context: context) : CrateTag(context: context)
  }

  func relate(_ owner: ManagedObject, _ member: ManagedObject) {
    switch (owner, member) {
    case (let owner as Crate, let member as CrateItem): member.crate = owner
    case (let owner as Crate, let member as CrateTag): owner.tags = [member]
    case (let owner as CrateItem, let member as CrateTag): owner.tags = [member]
    case (let owner as CrateTag, let member as CrateTag): owner.mate = member
    default: Issue.record("The objects are not related.")
    }
  }

  func members(of owner: ManagedObject) -> [ManagedObject] {
    switch owner {
    case let owner as Crate: self == .set ? Array(owner.tags) : owner.items
    case let owner as CrateItem: owner.tags
    case let owner as CrateTag: owner.mate.map { [$0] } ?? []
    default: []
    }
  }

  func owners(of member: ManagedObject) -> [ManagedObject] {
    switch member {
    case let member as CrateItem: member.crate.map { [$0] } ?? []
    case let member as CrateTag:
      switch self {
      case .set: Array(member.crates)
      case .list: member.items
      case .reference, .pair: member.mate.map { [$0] } ?? []
      }
    default: []
    }
  }
}

/// Tests deletions of objects that were read before another context related them to objects that
/// were read later.
@Suite("A deleted object that was read before related objects")
struct StaleDeletionTests {
  enum Place: CaseIterable { case root, child, parent }
  enum Reversal: CaseIterable { case rollback, undo, insertion }

  @Test(
    .evidence("R-03"), .evidence("R-04"), .evidence("N-02"), .evidence("G-01"),
    arguments: StaleLink.allCases,
    Place.allCases)
  func `leaves their relationships until the deletion is reverted`(
    link: StaleLink, place: Place
  ) throws {
    for reversal in Reversal.allCases {
      for (isEdited, isOwner) in [(false, false), (false, true), (true, false), (true, true)] {
        try check(link, place, reversal, isEdited: isEdited, isOwner: isOwner)
      }
    }
  }

  /// - Parameter isOwner: Whether to delete the owner instead of the member.
  private func check(
    _ link: StaleLink, _ place: Place, _ reversal: Reversal, isEdited: Bool, isOwner: Bool
  ) throws {
    let fixture = try GraphFixture(crates)
    let new = try fixture.saved { (link.makeOwner($0), link.makeMember($0)) }
    let (ownerID, memberID) = (new.0.objectID, new.1.objectID)
    let (id, otherID) = isOwner ? (ownerID, memberID) : (memberID, ownerID)
    func relate(_ context: ManagedObjectContext) {
      let owner = context.object(ManagedObject.self, with: ownerID)
      link.relate(owner, context.object(ManagedObject.self, with: memberID))
    }
    func related(_ object: ManagedObject) -> [ManagedObject] {
      object.objectID == ownerID ? link.members(of: object) : link.owners(of: object)
    }
    let root = fixture.context()
    root.mergePolicy = .mergeByPropertyObjectTrump
    let context = place == .root ? root : fixture.child(of: root)
    context.tracksUndo = true
    let object = context.object(ManagedObject.self, with: id)
    #expect(related(object).isEmpty)
    if isEdited { (object as? any CrateObject)?.number = 2 }
    context.endUndoGroup()
    if place == .parent { relate(root) } else { try fixture.saved(.error, relate) }
    let other = context.object(ManagedObject.self, with: otherID)
    #expect(related(other) == [object])
    context.delete(object)
    #expect(related(other).isEmpty && !other.hasChanges)
    switch reversal {
    case .rollback: context.rollback()
    case .undo: context.undo()
    case .insertion: context.insert(object)
    }
    #expect(related(other) == [object] && !object.isDeleted && !other.hasChanges)
    context.delete(object)
    #expect(related(other).isEmpty && !other.hasChanges)
    try context.save()
    // In the parent, the deletion of a crate cascades to its items.
    let isDeletedInParent = place != .root && isOwner && link == .reference
    #expect((related(other).isEmpty || isDeletedInParent) && !context.hasChanges)
    if place != .root {
      try expectReturn(from: root, to: context, other, place == .parent ? [] : [id], related)
    }
    let left = try fixture.stored { try $0.existingObject(ManagedObject.self, with: id) == nil }
    #expect(left == (place == .root))
  }

  /// Reverts the deletion in the parent context.
  private func expectReturn(
    from root: ManagedObjectContext, to child: ManagedObjectContext, _ other: ManagedObject,
    _ expected: [ManagedObjectID], _ related: (ManagedObject) -> [ManagedObject]
  ) throws {
    let original = root.object(ManagedObject.self, with: other.objectID)
    #expect(related(original).isEmpty)
    root.rollback()
    #expect(related(original).map(\.objectID) == expected)
    _ = try CrateText.objects(child)
    #expect(
      related(other).map(\.objectID) == expected && !related(other).contains(where: \.isDeleted))
  }
}
