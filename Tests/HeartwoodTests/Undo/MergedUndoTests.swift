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

  /// A member and three owners of one context.
  ///
  /// The first owner has the member at the beginning.
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

  /// The changes of both contexts, and how the first one makes its change.
  struct Variant {
    let mine: Int?
    let theirs: Int?
    let policy: MergePolicy
    /// Whether the lists are loaded before the change.
    let isLoaded: Bool
    /// Whether the change is made to the owner's list.
    let isOwnerSide: Bool
    let savesBeforeUndo: Bool

    static var all: [Variant] {
      var all: [Variant] = []
      for mine in [1, nil] {
        for theirs in [2, 1, nil] {
          for bits in 0..<16 {
            all.append(
              Variant(
                mine: mine, theirs: theirs,
                policy: bits & 8 == 0 ? .mergeByPropertyObjectTrump : .mergeByPropertyStoreTrump,
                isLoaded: bits & 1 != 0, isOwnerSide: bits & 2 != 0,
                savesBeforeUndo: bits & 4 != 0))
          }
        }
      }
      return all
    }
  }

  @Test(.evidence("G-03"), .evidence("C-06"), arguments: Link.allCases, Time.allCases)
  func `leaves both sides of a relationship in agreement`(link: Link, time: Time) throws {
    for variant in Variant.all { try run(link, time, variant) }
  }

  private func run(_ link: Link, _ time: Time, _ variant: Variant) throws {
    let fixture = try GraphFixture()
    let saved = try fixture.saved { Objects(new: $0) }
    let context = fixture.context()
    context.tracksUndo = true
    context.mergePolicy = variant.policy
    let objects = Objects(saved, context)
    if variant.isLoaded { _ = objects.load() }
    func saveTheirs() throws {
      try fixture.saved { Objects(saved, $0).move(link, to: variant.theirs, bySide: false) }
    }
    func check(_ stage: String) throws {
      let lists = objects.lists(link)
      #expect(objects.agree(link), "\(stage), \(variant): \(lists)")
      try context.save()
      let fresh = Objects(saved, fixture.context())
      #expect(objects.agree(link) && fresh.agree(link), "\(stage) and save, \(variant)")
      #expect(fresh.owner(link) == objects.owner(link), "\(stage) and save, \(variant)")
    }
    objects.move(link, to: variant.mine, bySide: variant.isOwnerSide)
    if time != .after { try saveTheirs() }
    if time == .beforeAndMerged { context.refreshAllObjects() }
    try context.save()
    if time == .after {
      try saveTheirs()
      context.refreshAllObjects()
    }
    if variant.savesBeforeUndo { try check("save") }
    context.undo()
    try check("undo")
    context.redo()
    try check("redo")
  }

  /// How the context learns that the other context has deleted the same objects.
  enum Merge: CaseIterable { case none, refresh, history, automatic }

  @Test(.evidence("G-02"), .evidence("C-06"), arguments: Merge.allCases, [false, true])
  func `forgets an object whose deletion others have saved and the context has merged`(
    merge: Merge, isLoaded: Bool
  ) throws {
    let fixture = try GraphFixture()
    let saved = try fixture.saved { Objects(new: $0) }
    let context = fixture.context()
    context.tracksUndo = true
    context.automaticallyMergesChangesFromParent = merge == .automatic
    let objects = Objects(saved, context)
    if isLoaded { _ = objects.load() }
    let before = try fixture.container.currentHistoryToken
    context.delete(objects.hall)
    context.delete(objects.car)
    try fixture.saved { other in
      let theirs = Objects(saved, other)
      other.delete(theirs.hall)
      other.delete(theirs.car)
    }
    let token = try fixture.container.currentHistoryToken
    switch merge {
    case .none: break
    case .refresh: context.refreshAllObjects()
    case .history:
      for transaction in try fixture.container.fetchHistory(after: before) {
        try context.mergeChanges(from: transaction)
      }
    case .automatic: _ = try context.fetch(FetchRequest<Keeper>())
    }
    context.undo()
    #expect(!context.hasChanges)
    let isThere = merge == .none
    #expect(objects.hall.isDeleted != isThere && objects.car.isDeleted != isThere)
    if !isThere {
      #expect(!objects.clubs[0].halls.contains { $0 === objects.hall })
      #expect(!objects.people[0].cars.contains(objects.car))
    }
    try context.save()
    #expect(try fixture.container.currentHistoryToken == token)
    context.refreshAllObjects()
    #expect(objects.clubs[0].halls.count == 2 && objects.people[0].cars.isEmpty)
    context.redo()
    try context.save()
    #expect(try fixture.container.currentHistoryToken == token)
  }

  @Test(.evidence("G-01"), arguments: Link.allCases)
  func `restores an unsaved addition of an object that others have deleted`(link: Link) throws {
    let fixture = try GraphFixture()
    let saved = try fixture.saved { Objects(new: $0) }
    let context = fixture.context()
    context.tracksUndo = true
    let objects = Objects(saved, context)
    objects.move(link, to: 1, bySide: false)
    context.endUndoGroup()
    objects.move(link, to: nil, bySide: true)
    try fixture.saved { other in
      let theirs = Objects(saved, other)
      other.delete(theirs.hall)
      other.delete(theirs.car)
    }
    context.undo()
    #expect(objects.lists(link) == [1] && objects.owner(link) == 1)
    context.undo()
    #expect(!context.hasChanges)
    context.redo()
    #expect(objects.lists(link) == [1] && objects.owner(link) == 1)
  }

  @Test(.evidence("G-03"))
  func `restores a member that was removed in an earlier saved group`() throws {
    let fixture = try GraphFixture()
    let saved = try fixture.saved { context in
      let objects = Objects(new: context)
      objects.clubs[0].members = [objects.people[0]]
      return objects
    }
    let context = fixture.context()
    context.tracksUndo = true
    let objects = Objects(saved, context)
    let (club, person) = (objects.clubs[0], objects.people[0])
    club.members = []
    try context.save()
    club.members = [person]
    try context.save()
    try fixture.saved { Objects(saved, $0).clubs[0].members = [] }
    context.refreshAllObjects()
    context.undo()
    #expect(club.members.isEmpty && person.clubs.isEmpty)
    context.undo()
    #expect(club.members == [person] && person.clubs == [club])
    try context.save()
    #expect(Objects(saved, fixture.context()).clubs[0].members.count == 1)
  }
}
