import Heartwood
import HeartwoodTestSupport
import Testing

/// Tests additions that a context undoes after another context has also made and saved them.
@Suite("Undoing an addition that another context has also made")
struct SharedAdditionTests {
  /// A relationship, and how a context connects its two objects.
  enum Link: CaseIterable {
    case clubs, members, owner, cars, club, halls

    func connect(_ objects: Objects) {
      switch self {
      case .clubs: objects.person.clubs.insert(objects.club)
      case .members: objects.club.members.insert(objects.person)
      case .owner: objects.car.owner = objects.person
      case .cars: objects.person.cars.insert(objects.car)
      case .club: objects.hall.club = objects.club
      case .halls: objects.club.halls.append(objects.hall)
      }
    }

    func disconnect(_ objects: Objects) {
      switch self {
      case .clubs: objects.person.clubs = []
      case .members: objects.club.members = []
      case .owner: objects.car.owner = nil
      case .cars: objects.person.cars = []
      case .club: objects.hall.club = nil
      case .halls: objects.club.halls = []
      }
    }

    /// Returns whether the first and the second side show the connection.
    func sides(_ objects: Objects) -> [Bool] {
      switch self {
      case .clubs, .members:
        [objects.person.clubs == [objects.club], objects.club.members == [objects.person]]
      case .owner, .cars:
        [objects.car.owner == objects.person, objects.person.cars == [objects.car]]
      case .club, .halls:
        [objects.hall.club == objects.club, objects.club.halls == [objects.hall]]
      }
    }
  }

  /// What the context does between the undo and the save.
  enum Update: CaseIterable { case none, refresh, fetch, redo }

  struct Objects {
    let person: Person
    let club: Club
    let car: Car
    let hall: Hall

    init(new context: ManagedObjectContext) {
      (person, club) = (Person(context: context), Club(context: context))
      (car, hall) = (Car(context: context), Hall(context: context))
    }

    init(_ context: ManagedObjectContext) throws {
      person = try #require(try context.fetch(FetchRequest<Person>()).first)
      club = try #require(try context.fetch(FetchRequest<Club>()).first)
      car = try #require(try context.fetch(FetchRequest<Car>()).first)
      hall = try #require(try context.fetch(FetchRequest<Hall>()).first)
    }
  }

  @Test(
    .evidence("G-02"), .evidence("C-06"), .evidence("C-17"), arguments: Link.allCases,
    [false, true])
  func `leaves no edit, and keeps the other context's addition`(
    link: Link, readsFirst: Bool
  ) throws {
    for update in Update.allCases {
      let fixture = try GraphFixture()
      _ = try fixture.saved { Objects(new: $0) }
      let context = fixture.context()
      context.tracksUndo = true
      let objects = try Objects(context)
      if readsFirst {
        // A rollback unloads the members again.
        _ = link.sides(objects)
        link.connect(objects)
        context.rollback()
      }
      link.connect(objects)
      try fixture.saved { link.connect(try Objects($0)) }
      context.undo()
      #expect(!context.hasChanges)
      #expect(link.sides(objects) == [false, false])
      switch update {
      case .none: break
      case .refresh: context.refreshAllObjects()
      case .fetch:
        _ = try Objects(context)
        #expect(link.sides(objects) == [true, true])
      case .redo:
        context.redo()
        #expect(link.sides(objects) == [true, true])
        context.undo()
        #expect(link.sides(objects) == [false, false] && !context.hasChanges)
      }
      try context.save()
      context.refreshAllObjects()
      #expect(link.sides(objects) == [true, true])
      #expect(link.sides(try Objects(fixture.context())) == [true, true])
    }
  }

  @Test(
    .evidence("G-02"), .evidence("C-06"), arguments: Link.allCases, Link.allCases)
  func `leaves no edit if the context has also made the opposite change`(
    first: Link, second: Link
  ) throws {
    for variant in 0..<24 {
      let (hasTwoGroups, isRemoval) = (variant & 1 != 0, variant & 2 != 0)
      func change(_ link: Link, _ objects: Objects, isOpposite: Bool = false) {
        if isRemoval != isOpposite { link.disconnect(objects) } else { link.connect(objects) }
      }
      let fixture = try GraphFixture()
      _ = try fixture.saved { context in
        let objects = Objects(new: context)
        if isRemoval { first.connect(objects) }
      }
      let context = fixture.context()
      context.tracksUndo = true
      let objects = try Objects(context)
      // Load all lists.
      if variant & 4 != 0 { #expect(Link.allCases.allSatisfy { $0.sides(objects) != [] }) }
      change(first, objects)
      if hasTwoGroups { context.endUndoGroup() }
      try fixture.saved { change(first, try Objects($0)) }
      change(second, objects, isOpposite: true)
      switch variant / 8 {
      case 0: break
      case 1: _ = try Objects(context)
      default: context.refreshAllObjects()
      }
      if hasTwoGroups { context.undo() }
      context.undo()
      #expect(!context.hasChanges, "variant \(variant)")
      try context.save()
      context.refreshAllObjects()
      #expect(first.sides(objects) == (isRemoval ? [false, false] : [true, true]))
    }
  }

  @Test(
    .evidence("G-02"), .evidence("C-06"), .evidence("N-01"), arguments: Link.allCases,
    [false, true])
  func `leaves no edit if the context has also deleted an object`(
    link: Link, isChild: Bool
  ) throws {
    for variant in 0..<24 {
      let fixture = try GraphFixture()
      _ = try fixture.saved { Objects(new: $0) }
      let root = fixture.context()
      let context = isChild ? fixture.child(of: root) : root
      context.tracksUndo = true
      let objects = try Objects(context)
      // Load all lists.
      if variant & 4 != 0 { #expect(Link.allCases.allSatisfy { $0.sides(objects) != [] }) }
      link.connect(objects)
      if isChild {
        link.connect(try Objects(root))
        try root.save()
      } else {
        try fixture.saved { link.connect(try Objects($0)) }
      }
      let all: [ManagedObject] = [objects.person, objects.club, objects.car, objects.hall]
      context.delete(all[variant & 3])
      switch variant / 8 {
      case 0: break
      case 1: _ = try context.fetch(FetchRequest<Person>())
      default: context.refreshAllObjects()
      }
      while context.canUndo { context.undo() }
      #expect(!context.hasChanges, "variant \(variant)")
      try context.save()
      context.refreshAllObjects()
      #expect(link.sides(objects) == [true, true], "variant \(variant)")
    }
  }

  @Test(.evidence("G-02"))
  func `keeps another addition to the same list, until that is undone too`() throws {
    let fixture = try GraphFixture()
    let saved = try fixture.saved { context in
      (club: Club(context: context), halls: [Hall(context: context), Hall(context: context)])
    }
    let context = fixture.context()
    context.tracksUndo = true
    let club: Club = context.object(with: saved.club.objectID)
    let halls = saved.halls.map { context.object(Hall.self, with: $0.objectID) }
    halls[0].club = club
    context.endUndoGroup()
    halls[1].club = club
    try fixture.saved { other in
      let theirs: Hall = other.object(with: halls[1].objectID)
      theirs.club = other.object(with: club.objectID)
    }
    context.undo()
    #expect(club.halls == [halls[0]] && halls[1].club == nil)
    context.undo()
    #expect(club.halls.isEmpty && !context.hasChanges)
    context.refreshAllObjects()
    #expect(club.halls == [halls[1]] && halls[1].club === club)
  }

  @Test(.evidence("G-01"), arguments: [false, true])
  func `undo continues with the group before additions that others have also made`(
    isOrdered: Bool
  ) throws {
    let fixture = try GraphFixture(crates)
    let new = try fixture.saved {
      (Crate(context: $0), CrateItem(context: $0), CrateTag(context: $0))
    }
    func make(_ context: ManagedObjectContext) {
      let tag = context.object(CrateTag.self, with: new.2.objectID)
      if isOrdered {
        context.object(CrateItem.self, with: new.1.objectID).tags = [tag]
      } else {
        tag.crates = [context.object(Crate.self, with: new.0.objectID)]
      }
    }
    let context = fixture.context()
    context.tracksUndo = true
    let crate = context.object(Crate.self, with: new.0.objectID)
    crate.text = "first"
    context.undoActionName = "Text"
    context.endUndoGroup()
    make(context)
    context.undoActionName = "Shared"
    context.endUndoGroup()
    try fixture.saved(.error, make)
    #expect(context.undoActionName == "Shared")
    context.refreshAllObjects()
    #expect(context.undoActionName == "Text" && context.canUndo)
    context.undo()
    #expect(crate.text == "" && !context.hasChanges && !context.canUndo)
    #expect(context.redoActionName == "Text")
    context.redo()
    #expect(crate.text == "first" && !context.canRedo)
  }
}
