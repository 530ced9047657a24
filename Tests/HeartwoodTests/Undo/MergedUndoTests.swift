import Heartwood
import HeartwoodTestSupport
import Testing

/// Tests undoing saved changes to relationships after another context has changed them too.
@Suite("Undoing saved changes that were merged with others")
struct MergedUndoTests {
  /// A to-one relationship whose inverse is a list or a set.
  enum Link: CaseIterable { case list, set }

  /// When the other context saves its change, relative to the save of the change to be undone.
  enum Time: CaseIterable { case before, beforeAndMerged, after }

  /// A member and three owners of one context. The first owner has the member at the beginning.
  struct Objects {
    let hall: Hall
    let car: Car
    let clubs: [Club]
    let people: [Person]

    init(new context: ManagedObjectContext) {
      (hall, car) = (Hall(context: context), Car(context: context))
      clubs = (0..<3).map { _ in Club(context: context) }
      people = (0..<3).map { number in
        let person = Person(context: context)
        person.name = "\(number)"
        return person
      }
      clubs[0].halls = [Hall(context: context), hall, Hall(context: context)]
      people[0].cars = [car]
    }

    init(_ saved: Objects, _ context: ManagedObjectContext) {
      hall = context.object(with: saved.hall.objectID)
      car = context.object(with: saved.car.objectID)
      clubs = saved.clubs.map { context.object(with: $0.objectID) }
      people = saved.people.map { context.object(with: $0.objectID) }
    }

    /// Moves the member to an owner, or removes it from all owners if `owner` is `nil`.
    func move(_ link: Link, to owner: Int?, bySide isOwnerSide: Bool) {
      switch (link, owner) {
      case (.list, let owner?) where isOwnerSide: clubs[owner].halls.append(hall)
      case (.list, nil) where isOwnerSide: hall.club?.halls.removeAll { $0 === hall }
      case (.list, let owner): hall.club = owner.map { clubs[$0] }
      case (.set, let owner?) where isOwnerSide: people[owner].cars.insert(car)
      case (.set, nil) where isOwnerSide: car.owner?.cars.remove(car)
      case (.set, let owner): car.owner = owner.map { people[$0] }
      }
    }

    func load() -> Int {
      clubs.reduce(0) { $0 + $1.halls.count } + people.reduce(0) { $0 + $1.cars.count }
    }

    /// The owner to which the member refers.
    func owner(_ link: Link) -> Int? {
      switch link {
      case .list: clubs.firstIndex { $0 === hall.club }
      case .set: people.firstIndex { $0 === car.owner }
      }
    }

    /// The owners whose lists contain the member.
    func lists(_ link: Link) -> [Int] {
      (0..<3).filter {
        switch link {
        case .list: clubs[$0].halls.contains { $0 === hall }
        case .set: people[$0].cars.contains(car)
        }
      }
    }

    func agree(_ link: Link) -> Bool { lists(link) == [owner(link)].compactMap { $0 } }
  }

  @Test(
    .evidence("G-03"), .evidence("C-06"), arguments: Link.allCases, Time.allCases)
  func `leaves both sides of a relationship in agreement`(link: Link, time: Time) throws {
    for mine in [1, nil] {
      for theirs in [2, 1, nil] {
        for policy in [MergePolicy.mergeByPropertyObjectTrump, .mergeByPropertyStoreTrump] {
          for variant in 0..<8 {
            try run(
              link, time, mine, theirs, policy, isLoaded: variant & 1 != 0,
              isOwnerSide: variant & 2 != 0, isUndoneAfterSave: variant & 4 != 0)
          }
        }
      }
    }
  }

  private func run(
    _ link: Link, _ time: Time, _ mine: Int?, _ theirs: Int?, _ policy: MergePolicy, isLoaded: Bool,
    isOwnerSide: Bool, isUndoneAfterSave: Bool
  ) throws {
    let comment: Comment =
      "mine \(mine.debugDescription), theirs \(theirs.debugDescription), \(policy), loaded \(isLoaded), \(isOwnerSide), \(isUndoneAfterSave)"
    let fixture = try GraphFixture()
    let saved = try fixture.saved { Objects(new: $0) }
    let context = fixture.context()
    context.tracksUndo = true
    context.mergePolicy = policy
    let objects = Objects(saved, context)
    if isLoaded { _ = objects.load() }
    func others() throws {
      try fixture.saved { Objects(saved, $0).move(link, to: theirs, bySide: false) }
    }
    func check(_ stage: Int) throws {
      #expect(objects.agree(link), "\(comment) \(stage): \(objects.owner(link).debugDescription) \(objects.lists(link))")
      try context.save()
      let fresh = Objects(saved, fixture.context())
      #expect(objects.agree(link), "\(comment) \(stage) saved")
      #expect(fresh.agree(link), "\(comment) \(stage) fresh")
      #expect(fresh.owner(link) == objects.owner(link), "\(comment) \(stage) differs: \(fresh.owner(link).debugDescription) \(objects.owner(link).debugDescription)")
    }
    objects.move(link, to: mine, bySide: isOwnerSide)
    if time != .after { try others() }
    if time == .beforeAndMerged { context.refreshAllObjects() }
    try context.save()
    if time == .after {
      try others()
      context.refreshAllObjects()
    }
    if isUndoneAfterSave { try check(0) }
    context.undo()
    try check(1)
    context.redo()
    try check(2)
  }
}
