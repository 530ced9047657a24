import Heartwood
import HeartwoodTestSupport
import Testing

/// Tests saves in which the two ends of a one-to-one relationship do not ask for the same pair.
@Suite("One-to-one relationships in a conflict")
struct PairConflictTests {
  private let fixture: GraphFixture
  private let others: ManagedObjectContext
  private let context: ManagedObjectContext
  /// The objects of the other context: the first member holds the first badge.
  private let members: [CrewMember]
  private let badges: [CrewBadge]

  init() throws {
    fixture = try GraphFixture(crew)
    (others, context) = (fixture.context(), fixture.context())
    let others = others
    members = (0..<3).map { _ in CrewMember(context: others) }
    badges = (0..<2).map { _ in CrewBadge(context: others) }
    badges[0].holder = members[0]
    try others.save()
  }

  private func member(_ index: Int) throws -> CrewMember {
    try #require(try context.existingObject(CrewMember.self, with: members[index].objectID))
  }

  private func badge(_ index: Int) throws -> CrewBadge {
    try #require(try context.existingObject(CrewBadge.self, with: badges[index].objectID))
  }

  /// Returns the stored badge of each member, and expects both sides to agree.
  private func storedBadges() throws -> [Int?] {
    let fresh = fixture.context()
    for badge in try fresh.fetch(FetchRequest<CrewBadge>()) {
      #expect(badge.holder.map { $0.badge === badge } ?? true)
    }
    return try members.map { known in
      let member = try #require(try fresh.existingObject(CrewMember.self, with: known.objectID))
      guard let badge = member.badge else { return nil }
      #expect(badge.holder === member)
      return badges.firstIndex { $0.objectID == badge.objectID }
    }
  }

  /// Returns a policy that gives some members the badges with the given indices.
  private func policy(giving chosen: [(member: Int, badge: Int)]) -> MergePolicy {
    let ids = chosen.map { (members[$0.member].objectID, badges[$0.badge].objectID) }
    return .custom { conflict in
      for (member, badge) in ids where member == conflict.objectID {
        conflict.resultReferences["badge"] = badge
      }
    }
  }

  /// Changes a member in both contexts, so that the member is in conflict.
  private func contest(_ index: Int) throws {
    try member(index).title = "mine"
    members[index].title = "theirs"
    try others.save()
  }

  @Test(.evidence("C-08"))
  func `a reference that a custom policy sets separates its target from another object`() throws {
    context.mergePolicy = policy(giving: [(1, 0)])
    try contest(1)
    try context.save()
    #expect(try storedBadges() == [nil, 0, nil])
  }

  @Test(.evidence("C-08"))
  func `a pair takes precedence over a reference that a custom policy sets`() throws {
    context.mergePolicy = policy(giving: [(1, 1)])
    try contest(1)
    try member(2).badge = try badge(1)
    try context.save()
    #expect(try storedBadges() == [0, nil, 1])
  }

  @Test(.evidence("C-06"), .evidence("C-08"))
  func `a reference that cannot be set does not return to a target with a new partner`() throws {
    context.mergePolicy = policy(giving: [(2, 0), (0, 1)])
    try contest(2)
    try contest(0)
    try member(1).badge = try badge(1)
    try context.save()
    #expect(try storedBadges() == [nil, 1, 0])
  }

  @Test(.evidence("C-08"))
  func `a reference that was not edited does not separate a pair of others`() throws {
    context.mergePolicy = .overwrite
    let mine = try member(0)
    mine.title = "mine"
    badges[0].holder = members[1]
    try others.save()
    try context.save()
    #expect(try storedBadges() == [nil, 0, nil] && mine.badge == nil)
  }

  @Test(.evidence("C-08"))
  func `overwriting restores a pair that others have separated if both ends are free`() throws {
    context.mergePolicy = .overwrite
    try badge(0).stamp.serial = 1
    try member(1).badge = try badge(1)
    members[0].badge = badges[1]
    try others.save()
    try context.save()
    #expect(try storedBadges() == [0, 1, nil])
  }
}
