import Heartwood
import HeartwoodTestSupport
import Testing

/// A relationship in which each member has at most one owner.
///
/// The cases name the owner's side of the relationship, which is a set, an ordered list, one
/// object, or one object of the same class.
private enum Ownership: CaseIterable {
  case set, list, pair, mate

  static let schema = Schema(Person.self, Club.self, Keeper.self, Cat.self)

  func make(_ context: ManagedObjectContext) -> (member: ManagedObject, owners: [ManagedObject]) {
    switch self {
    case .set: (Car(context: context), ["a", "b", "c"].map { person($0, context) })
    case .list: (Hall(context: context), (0..<3).map { _ in Club(context: context) })
    case .pair: (Keeper(context: context), (0..<3).map { _ in Hall(context: context) })
    case .mate: (Cat(context: context), (0..<3).map { _ in Cat(context: context) })
    }
  }

  private func person(_ name: String, _ context: ManagedObjectContext) -> Person {
    let person = Person(context: context)
    person.name = name
    return person
  }

  func owner(of member: ManagedObject) -> ManagedObject? {
    switch member {
    case let car as Car: car.owner
    case let hall as Hall: hall.club
    case let keeper as Keeper: keeper.hall
    case let cat as Cat: cat.mate
    default: nil
    }
  }

  func move(_ member: ManagedObject, to owner: ManagedObject?) {
    switch member {
    case let car as Car: car.owner = owner as? Person
    case let hall as Hall: hall.club = owner as? Club
    case let keeper as Keeper: keeper.hall = owner as? Hall
    case let cat as Cat: cat.mate = owner as? Cat
    default: break
    }
  }

  func members(of owner: ManagedObject) -> [ManagedObject] {
    switch owner {
    case let person as Person: Array(person.cars)
    case let club as Club: club.halls
    case let hall as Hall: hall.keeper.map { [$0] } ?? []
    case let cat as Cat: cat.mate.map { [$0] } ?? []
    default: []
    }
  }
}

@Suite("Members moved by two contexts")
struct MovedMembersTests {
  /// A member and three possible owners, in a context with undo.
  ///
  /// The first owner has the member.
  private final class Move {
    let fixture: GraphFixture
    let link: Ownership
    let context: ManagedObjectContext
    let member: ManagedObject
    let owners: [ManagedObject]

    init(_ link: Ownership) throws {
      self.link = link
      fixture = try GraphFixture(Ownership.schema)
      context = fixture.context()
      context.tracksUndo = true
      (member, owners) = link.make(context)
      link.move(member, to: owners[0])
      try context.save()
    }

    /// Moves the member in another context, and saves the change.
    func moveByOthers(to owner: Int?) throws {
      let context = fixture.context()
      let member: ManagedObject = context.object(with: member.objectID)
      let target: ManagedObject? = owner.map { context.object(with: owners[$0].objectID) }
      link.move(member, to: target)
      try context.save()
    }

    /// Expects both sides of the relationship to agree that the given owner has the member.
    ///
    /// - Parameter owner: The number of the owner, or `nil` if no owner has the member.
    func expect(at owner: Int?, _ location: SourceLocation = #_sourceLocation) {
      #expect(
        link.owner(of: member) === owner.map { owners[$0] }, "\(link)", sourceLocation: location)
      for (number, other) in owners.enumerated() {
        #expect(
          link.members(of: other) == (number == owner ? [member] : []), "\(link), \(number)",
          sourceLocation: location)
      }
    }
  }

  @Test(
    .evidence("S-03"), .evidence("QG-31"), .evidence("R-01"), .evidence("R-02"),
    arguments: Ownership.allCases, [1, nil] as [Int?])
  private func `a moved member keeps its new owner after all objects are reread`(
    link: Ownership, mine: Int?
  ) throws {
    let move = try Move(link)
    link.move(move.member, to: mine.map { move.owners[$0] })
    try move.moveByOthers(to: 2)
    move.context.refreshAllObjects()
    move.expect(at: mine)
    try move.context.save()
    move.expect(at: mine)
    move.context.refreshAllObjects()
    move.expect(at: mine)
  }

  @Test(.evidence("QG-30"), arguments: Ownership.allCases)
  private func `a moved member keeps its new owner after only it is reread`(link: Ownership) throws
  {
    let move = try Move(link)
    // The move in the other context also changed the owners, so the save must resolve conflicts.
    move.context.mergePolicy = .mergeByPropertyObjectTrump
    link.move(move.member, to: move.owners[1])
    try move.moveByOthers(to: 2)
    try move.context.refresh(move.member, mergeChanges: true)
    move.expect(at: 1)
    try move.context.save()
    move.expect(at: 1)
  }

  @Test(
    .evidence("G-02"), .evidence("S-07"), arguments: Ownership.allCases, [false, true])
  private func `undoing a move shows the owner assigned by others`(
    link: Ownership, rollsBack: Bool
  ) throws {
    let move = try Move(link)
    link.move(move.member, to: move.owners[1])
    try move.moveByOthers(to: 2)
    move.context.refreshAllObjects()
    move.expect(at: 1)
    if rollsBack { move.context.rollback() } else { move.context.undo() }
    move.expect(at: 2)
    guard !rollsBack else { return }
    move.context.redo()
    move.expect(at: 1)
    move.context.undo()
    move.expect(at: 2)
  }

  @Test(.evidence("G-02"), arguments: [Ownership.set, .pair, .mate])
  private func `a moved member returns with its owner however often the move is undone`(
    link: Ownership
  ) throws {
    let move = try Move(link)
    let context = move.context
    link.move(move.member, to: nil)
    try context.save()
    link.move(move.member, to: move.owners[1])
    context.endUndoGroup()
    context.delete(move.owners[1])
    for _ in 0..<3 {
      context.undo()
      move.expect(at: 1)
      context.redo()
      #expect(link.owner(of: move.member) == nil)
    }
    context.undo()
    context.undo()
    move.expect(at: nil)
    #expect(!context.hasChanges)
  }

  @Test(.evidence("G-02"), arguments: [Ownership.set, .pair, .mate])
  private func `a moved member returns to an owner that was reread`(link: Ownership) throws {
    let move = try Move(link)
    move.context.delete(move.member)
    move.context.refreshAllObjects()
    #expect(link.members(of: move.owners[0]).isEmpty)
    let others = move.fixture.context()
    let owner: ManagedObject = others.object(with: move.owners[0].objectID)
    others.delete(owner)
    try others.save()
    move.context.undo()
    // The context keeps its old values until it rereads the objects.
    #expect(link.members(of: move.owners[0]) == [move.member])
  }

  @Test(.evidence("S-03"), .evidence("C-05"), arguments: Ownership.allCases)
  private func `a member moved to the same owner by both contexts is unchanged`(link: Ownership)
    throws
  {
    let move = try Move(link)
    link.move(move.member, to: move.owners[1])
    try move.moveByOthers(to: 1)
    move.context.refreshAllObjects()
    move.expect(at: 1)
    #expect(!move.context.hasChanges)
    link.move(move.member, to: nil)
    try move.context.save()
    move.expect(at: nil)
  }

  @Test(.evidence("R-11"), .evidence("S-03"))
  func `removing a member that both contexts have added removes it`() throws {
    let fixture = try GraphFixture(Ownership.schema)
    let context = fixture.context()
    let (club, person) = (Club(context: context), Person(context: context))
    try context.save()
    club.members.insert(person)
    let others = fixture.context()
    let theirs: Club = others.object(with: club.objectID)
    theirs.members.insert(others.object(with: person.objectID))
    try others.save()
    context.refreshAllObjects()
    #expect(club.members == [person] && !context.hasChanges)
    club.members.remove(person)
    try context.save()
    context.refreshAllObjects()
    #expect(club.members.isEmpty && person.clubs.isEmpty)
  }

  @Test(.evidence("G-01"), .evidence("R-01"), arguments: Ownership.allCases)
  private func `redo moves a member again from the owner assigned by others`(
    link: Ownership
  ) throws {
    let move = try Move(link)
    link.move(move.member, to: move.owners[1])
    move.context.undo()
    try move.moveByOthers(to: 2)
    move.context.refreshAllObjects()
    move.expect(at: 2)
    move.context.redo()
    move.expect(at: 1)
    move.context.undo()
    move.expect(at: 2)
    #expect(!move.context.hasChanges)
  }

  /// Saves a club with one member in a context with undo, and returns both objects.
  private func membership() throws -> (
    fixture: GraphFixture, context: ManagedObjectContext, club: Club, person: Person
  ) {
    let fixture = try GraphFixture(Ownership.schema)
    let context = fixture.context()
    context.tracksUndo = true
    context.discardsUndoOnSave = true
    let (club, person) = (Club(context: context), Person(context: context))
    club.members.insert(person)
    try context.save()
    return (fixture, context, club, person)
  }

  @Test(.evidence("G-02"), .evidence("R-01"), arguments: [false, true], [false, true])
  func `undoing a deletion leaves a member removed by others removed`(
    deletesClub: Bool, isPinned: Bool
  ) throws {
    let (fixture, context, club, person) = try membership()
    if isPinned { try context.setQueryGenerationFrom(.current) }
    #expect(club.members == [person])
    context.delete(deletesClub ? club : person)
    let others = fixture.context()
    let theirs: Club = others.object(with: club.objectID)
    theirs.members = []
    try others.save()
    for transaction in try fixture.container.fetchHistory(after: nil) {
      try context.mergeChanges(from: transaction)
    }
    context.undo()
    #expect(club.members.isEmpty && person.clubs.isEmpty && !context.hasChanges)
  }

  @Test(.evidence("G-02"), .evidence("QG-27"), arguments: [false, true])
  func `a deleted member is hidden until its deletion is undone`(
    rollsBack: Bool
  ) throws {
    let (fixture, context, club, person) = try membership()
    club.members.remove(person)
    try context.save()
    context.delete(person)
    let others = fixture.context()
    let theirs: Club = others.object(with: club.objectID)
    theirs.members.insert(others.object(with: person.objectID))
    let car = Car(context: others)
    car.owner = others.object(with: person.objectID)
    try others.save()
    context.refreshAllObjects()
    let mine: Car = context.object(with: car.objectID)
    #expect(club.members.isEmpty && mine.owner == nil)
    if rollsBack { context.rollback() } else { context.undo() }
    #expect(club.members == [person] && mine.owner === person)
    #expect(person.clubs == [club] && person.cars == [mine] && !context.hasChanges)
  }

  @Test(.evidence("G-02"), arguments: [false, true])
  func `undo keeps the members as others have changed them`(isAdded: Bool) throws {
    let (fixture, context, club, person) = try membership()
    if isAdded {
      club.members = []
      try context.save()
    }
    func change(_ club: Club, _ person: Person) {
      if isAdded { club.members.insert(person) } else { club.members.remove(person) }
    }
    change(club, person)
    let others = fixture.context()
    change(others.object(with: club.objectID), others.object(with: person.objectID))
    try others.save()
    context.refreshAllObjects()
    context.undo()
    #expect(club.members == (isAdded ? [person] : []) && !context.hasChanges)
    try context.save()
    #expect(person.clubs == (isAdded ? [club] : []))
  }
}
