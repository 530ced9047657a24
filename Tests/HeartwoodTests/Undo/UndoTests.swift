import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

@Suite("Undo")
struct UndoTests {
  @Test(.evidence("G-01"))
  func `undo and redo apply to groups of changes`() throws {
    let fixture = try GraphFixture()
    let id = try fixture.person("Ada", age: 1, cars: 2)
    let context = fixture.context()
    context.tracksUndo = true
    let ada: Person = context.object(with: id)
    let cars = ada.cars
    ada.age = 2
    ada.nickname = "A"
    context.endUndoGroup()
    let bob = Person(context: context)
    bob.name = "Bob"
    try #require(cars.first).owner = bob
    context.endUndoGroup()
    context.delete(ada)
    #expect(cars.count { $0.isDeleted } == 1)
    context.undo()
    #expect(!ada.isDeleted && ada.cars.count == 1 && bob.cars.count == 1)
    #expect(!cars.contains { $0.isDeleted })
    context.undo()
    #expect(ada.cars == cars && context.insertedObjects == [])
    #expect(ada.age == 2 && cars.allSatisfy { $0.owner === ada })
    context.undo()
    #expect(ada.age == 1 && ada.nickname == nil && !context.canUndo)
    context.redo()
    context.redo()
    #expect(ada.age == 2 && bob.isInserted && bob.cars.count == 1 && bob.name == "Bob")
    context.redo()
    #expect(ada.isDeleted && !context.canRedo)
    context.undo()
    ada.age = 9
    #expect(!context.canRedo)
    try context.save()
    #expect(context.canUndo)
    #expect(try fixture.stored(id)?.age == 9)
    #expect(try fixture.stored(bob.objectID)?.cars == 1)
  }

  @Test(.evidence("G-01"))
  func `undoing all changes leaves nothing to save`() throws {
    let fixture = try GraphFixture()
    let id = try fixture.person("Ada", age: 1)
    let context = fixture.context()
    context.tracksUndo = true
    let ada: Person = context.object(with: id)
    ada.age = 2
    ada.age = 3
    context.undo()
    #expect(ada.age == 1 && !context.hasChanges && !ada.hasChanges)
    context.redo()
    #expect(ada.age == 3 && ada.isUpdated)
  }

  @Test(.evidence("G-01"))
  func `undo restores members at their positions`() throws {
    let fixture = try GraphFixture()
    let context = fixture.context()
    let club = Club(context: context)
    for number in 0..<4 {
      let hall = Hall(context: context)
      hall.number = number
      hall.club = club
    }
    try context.save()
    context.tracksUndo = true
    club.halls[1].club = nil
    context.endUndoGroup()
    club.halls.swapAt(0, 1)
    #expect(club.halls.map(\.number) == [2, 0, 3])
    context.undo()
    context.undo()
    #expect(club.halls.map(\.number) == [0, 1, 2, 3] && club.halls.allSatisfy { $0.club === club })
    context.redo()
    #expect(club.halls.map(\.number) == [0, 2, 3])
    context.redo()
    #expect(club.halls.map(\.number) == [2, 0, 3])
    try context.save()
    let stored: Club = fixture.context().object(with: club.objectID)
    #expect(stored.halls.map(\.number) == [2, 0, 3])
  }

  @Test(.evidence("G-02")) func `undo loads faults first`() throws {
    let fixture = try GraphFixture()
    let id = try fixture.person("Ada", age: 1)
    let context = fixture.context()
    context.tracksUndo = true
    let ada: Person = context.object(with: id)
    ada.name = "Eve"
    context.endUndoGroup()
    context.undo()
    context.refreshAllObjects()
    context.redo()
    #expect(ada.name == "Eve" && ada.age == 1)
    context.mergePolicy = .overwrite
    try context.save()
    #expect(try fixture.stored(id)?.name == "Eve")
    #expect(try fixture.stored(id)?.age == 1)
  }

  @Test(.evidence("G-02"), .evidence("R-13"), arguments: [false, true])
  func `undo leaves no change that would overwrite other contexts' saves`(isByHand: Bool) throws {
    let fixture = try GraphFixture(orders)
    let context = fixture.context()
    context.mergePolicy = .overwrite
    context.tracksUndo = !isByHand
    let (order, label) = (Order(context: context), Label(context: context))
    order.lines = (0..<3).map { _ in OrderLine(context: context) }
    try context.save()
    order.labels.insert(label)
    order.lines.reverse()
    if isByHand {
      order.labels.remove(label)
      order.lines.reverse()
    } else {
      context.endUndoGroup()
      context.undo()
    }
    #expect(!context.hasChanges && context.updatedObjects == [])
    let other = fixture.context()
    other.object(Order.self, with: order.objectID).title = "theirs"
    try other.save()
    label.name = "mine"
    try context.save()
    let stored = fixture.context().object(Order.self, with: order.objectID)
    #expect(stored.title == "theirs" && stored.labels.isEmpty)
  }

  @Test(.evidence("G-01"), arguments: [false, true])
  func `undo reverts an assignment of the same value after a refresh`(
    isFetched: Bool
  ) throws {
    let fixture = try GraphFixture()
    let id = try fixture.person("Ada", age: 1)
    let context = fixture.context()
    context.tracksUndo = true
    let ada: Person = context.object(with: id)
    ada.age = 1
    if isFetched {
      _ = try context.fetch(FetchRequest<Person>())
    } else {
      context.refreshAllObjects()
    }
    #expect(context.canUndo)
    context.undo()
    #expect(!context.hasChanges && !context.canUndo && context.canRedo)
    context.redo()
    #expect(ada.age == 1 && context.canUndo && !context.canRedo)
  }

  @Test(.evidence("G-01"))
  func `undo restores a reference to an object deleted before its referrer`() throws {
    let fixture = try GraphFixture(crew)
    let context = fixture.context()
    context.tracksUndo = true
    let (ada, bob) = (CrewMember(context: context), CrewMember(context: context))
    ada.mentor = bob
    context.endUndoGroup()
    context.delete(bob)
    context.delete(ada)
    context.undo()
    #expect(ada.mentor === bob && context.insertedObjects.count == 2)
    context.redo()
    #expect(context.insertedObjects == [])
    context.undo()
    #expect(ada.mentor === bob)
  }

  @Test(.evidence("G-01"))
  func `undo restores a reference that was cleared after its target was deleted`() throws {
    let fixture = try GraphFixture(crew)
    let context = fixture.context()
    context.tracksUndo = true
    let (ada, bob) = (CrewMember(context: context), CrewMember(context: context))
    ada.mentor = bob
    context.endUndoGroup()
    context.delete(bob)
    context.endUndoGroup()
    ada.mentor = nil
    context.undo()
    #expect(!bob.isInserted)
    context.undo()
    #expect(bob.isInserted && ada.mentor === bob)
  }

  @Test(.evidence("G-02"))
  func `undo restores a reference to a new object after a refresh`() throws {
    let fixture = try GraphFixture(crew)
    let context = fixture.context()
    let member = CrewMember(context: context)
    try context.save()
    context.tracksUndo = true
    let mentor = CrewMember(context: context)
    member.mentor = mentor
    context.endUndoGroup()
    context.delete(mentor)
    context.refreshAllObjects()
    context.undo()
    #expect(member.mentor === mentor && mentor.isInserted)
    try context.save()
    let stored: CrewMember = fixture.context().object(with: member.objectID)
    #expect(stored.mentor?.objectID == mentor.objectID)
  }

  @Test(.evidence("G-01"), .evidence("R-01"))
  func `undo restores the members of an owner each time it was deleted`() throws {
    let fixture = try GraphFixture(orders)
    let context = fixture.context()
    context.tracksUndo = true
    let order = Order(context: context)
    try context.save()
    let (line, piece) = (OrderLine(context: context), Piece(context: context))
    order.lines.append(line)
    order.pieces.insert(piece)
    context.endUndoGroup()
    context.delete(order)
    context.endUndoGroup()
    for _ in 0..<3 {
      context.undo()
      #expect(order.lines == [line] && line.order === order)
      #expect(order.pieces == [piece] && piece.order === order)
      context.undo()
      #expect(order.lines == [] && order.pieces == [] && !context.hasChanges)
      context.redo()
      #expect(order.lines == [line] && order.pieces == [piece])
      context.redo()
      #expect(order.isDeleted)
    }
  }

  /// An order that a context with undo and another context share.
  private struct SharedOrder {
    let fixture: GraphFixture
    let context: ManagedObjectContext
    let mine: Order
    private let writer: ManagedObjectContext
    private let theirs: Order

    init(lineCount: Int) throws {
      fixture = try GraphFixture(orders)
      writer = fixture.context()
      theirs = Order(context: writer)
      for number in 1...lineCount {
        let line = OrderLine(context: writer)
        line.number = number
        theirs.lines.append(line)
      }
      try writer.save()
      context = fixture.context()
      context.tracksUndo = true
      mine = context.object(with: theirs.objectID)
    }

    var numbers: [Int] { mine.lines.map(\.number) }

    /// Inserts line 0 at the front in the other context, and then merges or refreshes the order.
    func mergeFirstLine(refreshes: Bool) throws {
      try merge(refreshes: refreshes) { $0.lines.insert(OrderLine(context: writer), at: 0) }
    }

    /// Changes the order in the other context, and then merges or refreshes it.
    func merge(refreshes: Bool, _ change: (Order) -> Void) throws {
      let token = try fixture.container.currentHistoryToken
      change(theirs)
      try writer.save()
      if refreshes { return try context.refresh(mine, mergeChanges: true) }
      for news in try fixture.container.fetchHistory(after: token) {
        try context.mergeChanges(from: news)
      }
    }
  }

  @Test(.evidence("G-01"), arguments: [false, true])
  func `undo inserts a member after its former predecessor`(refreshes: Bool) throws {
    let shared = try SharedOrder(lineCount: 3)
    shared.mine.lines.swapAt(0, 1)
    shared.context.endUndoGroup()
    shared.mine.lines.removeLast()
    try shared.mergeFirstLine(refreshes: refreshes)
    #expect(shared.numbers == [0, 2, 1])
    shared.context.undo()
    #expect(shared.numbers == [0, 2, 1, 3])
  }

  @Test(.evidence("G-02"), arguments: [false, true])
  func `undo restores the order that others have saved`(refreshes: Bool) throws {
    let shared = try SharedOrder(lineCount: 3)
    shared.mine.lines.removeLast()
    try shared.merge(refreshes: refreshes) { theirs in
      theirs.lines = [2, 0, 1].map { theirs.lines[$0] }
    }
    shared.context.undo()
    #expect(shared.numbers == [3, 1, 2] && !shared.context.hasChanges)
  }

  @Test(.evidence("G-02"), arguments: [false, true], [false, true])
  func `undo restores the order of the store after a merge`(removes: Bool, refreshes: Bool) throws {
    let shared = try SharedOrder(lineCount: 3)
    if removes { shared.mine.lines.removeLast() } else { shared.mine.lines.swapAt(0, 1) }
    try shared.mergeFirstLine(refreshes: refreshes)
    shared.context.undo()
    #expect(shared.numbers == [0, 1, 2, 3] && !shared.context.hasChanges)
    shared.context.redo()
    #expect(shared.numbers == (removes ? [0, 1, 2] : [0, 2, 1, 3]))
  }

  @Test(.evidence("G-02"), arguments: [false, true])
  func `undo restores the order of the store after groups with a merge in between`(
    refreshes: Bool
  ) throws {
    let shared = try SharedOrder(lineCount: 4)
    let (context, mine) = (shared.context, shared.mine)
    mine.lines.removeLast()
    context.endUndoGroup()
    mine.lines.swapAt(0, 1)
    context.endUndoGroup()
    mine.lines.swapAt(1, 2)
    try shared.mergeFirstLine(refreshes: refreshes)
    let states = [[0, 1, 2, 3, 4], [0, 1, 2, 3], [0, 2, 1, 3], [0, 2, 3, 1]]
    for _ in 0..<2 {
      #expect(shared.numbers == states[3])
      for state in states[..<3].reversed() {
        context.undo()
        #expect(shared.numbers == state)
      }
      #expect(!context.hasChanges && !context.canUndo)
      for state in states[1...] {
        context.redo()
        #expect(shared.numbers == state)
      }
    }
    try context.save()
    let stored: Order = shared.fixture.context().object(with: mine.objectID)
    #expect(stored.lines.map(\.number) == states[3])
  }

  @Test(.evidence("G-01"))
  func `the undo log survives a save that only detects conflicts`() throws {
    let fixture = try GraphFixture()
    let id = try fixture.person("Ada", age: 1)
    let context = fixture.context()
    context.tracksUndo = true
    let ada: Person = context.object(with: id)
    ada.age = 2
    context.undo()
    context.detectConflicts(for: ada)
    try context.save()
    context.redo()
    #expect(ada.age == 2 && ada.isUpdated)
  }

  @Test(.evidence("G-02")) func `undo spans stores`() throws {
    let fixture = try StoresFixture()
    let context = fixture.context()
    let (memo, person) = (Memo(context: context), Person(context: context))
    memo.text = "milk"
    person.name = "Ada"
    context.rollback()
    context.tracksUndo = true
    context.insert(memo)
    context.insert(person)
    memo.remarks.insert(Remark(context: context))
    person.cars.insert(Car(context: context))
    context.endUndoGroup()
    #expect(context.insertedObjects.count == 4)
    context.delete(memo)
    person.age = 2
    context.endUndoGroup()
    context.undo()
    #expect(memo.remarks.count == 1 && person.age == 0 && context.insertedObjects.count == 4)
    context.undo()
    #expect(!context.hasChanges && memo.text == "milk")
    context.redo()
    #expect(memo.remarks.first?.memo === memo && person.cars.first?.owner === person)
    context.undo()
    #expect(!context.hasChanges)
  }

  @Test(.evidence("G-01")) func `a name applies to the group of the last change`() throws {
    let fixture = try GraphFixture()
    let context = fixture.context()
    (context.tracksUndo, context.undoLimit) = (true, -1)
    #expect(context.undoLimit == 0)
    (context.undoLimit, context.undoActionName) = (nil, "Nothing")
    #expect(context.undoActionName == nil)
    let person = Person(context: context)
    context.endUndoGroup()
    context.undoActionName = "Insert Person"
    #expect(context.undoActionName == "Insert Person")
    context.undo()
    #expect(person.managedObjectContext == nil && context.redoActionName == "Insert Person")
  }
}
