import Heartwood
import HeartwoodTestSupport
import Testing

@Suite("Saving a child whose parent has newer edits")
struct NestedSavingTests {
  @Test(.evidence("C-05"), .evidence("N-02"), arguments: [false, true])
  func `setting a property to its current value in a child keeps the parent's newer value`(
    savesMore: Bool
  ) throws {
    let fixture = try GraphFixture()
    let ids = try ["Ada", "Bob", "Cid"].map { try fixture.person($0, age: 1, cars: 1) }
    let parent = fixture.context()
    let child = fixture.child(of: parent)
    let people: [Person] = ids.map { parent.object(with: $0) }
    let own: [Person] = ids.map { child.object(with: $0) }
    #expect(own.map(\.age) == [1, 1, 1])
    let ownCar = try #require(own[0].cars.first)
    let car: Car = parent.object(with: ownCar.objectID)
    #expect(ownCar.owner === own[0])
    people[0].age = 5
    car.owner = people[2]
    own[0].age = own[0].age
    ownCar.owner = own[1]
    ownCar.owner = own[0]
    if savesMore { own[1].age = 7 }
    try child.save()
    #expect(people.map(\.age) == [5, savesMore ? 7 : 1, 1])
    #expect(car.owner === people[2] && people.map(\.cars.count) == [0, 1, 2])
    #expect(!child.hasChanges && child.updatedObjects == [])
    try child.fetch(FetchRequest<Person>()).forEach { #expect($0.isUpdated == false) }
    #expect(own[0].age == 5)
  }

  @Test(.evidence("N-04"))
  func `edits of an object that the parent knows only as a reference are discarded`() throws {
    let fixture = try GraphFixture()
    let id = try fixture.person("Ada", age: 1)
    let club = try fixture.saved { Club(context: $0) }
    let parent = fixture.context()
    let child = fixture.child(of: parent)
    let ada = try #require(try child.existingObject(Person.self, with: id))
    ada.age = 2
    let original: Person = parent.object(with: id)
    try fixture.context().execute(BatchDeleteRequest<Person>())
    parent.refreshAllObjects()
    // The parent edits the object without reading it, so it does not notice the missing row.
    let parentsClub: Club = parent.object(with: club.objectID)
    parentsClub.members.insert(original)
    ada.nickname = "A"
    try child.save()
    #expect(!child.hasChanges && ada.nickname == nil && ada.age == 0)
    #expect(try child.fetch(FetchRequest<Person>()) == [] && ada.isDeleted)
  }

  /// The child's edit of the third owner's members must not take the member back.
  @Test(
    .evidence("N-02"), .evidence("S-03"), .evidence("C-07"), arguments: [false, true],
    [false, true])
  func `a member moved by both parent and child stays where the child moved it`(
    isOrdered: Bool, editsLists: Bool
  ) throws {
    let fixture = try GraphFixture(orders)
    let parent = fixture.context()
    let (piece, line) = (Piece(context: parent), OrderLine(context: parent))
    let owners = (0..<3).map { _ in Order(context: parent) }
    (owners[0].pieces, owners[0].lines) = ([piece], [line])
    try parent.save()
    let child = fixture.child(of: parent)
    let own = owners.map { child.object(Order.self, with: $0.objectID) }
    if isOrdered {
      let ownLine = try #require(own[0].lines.first)
      #expect(own[2].lines == [] && ownLine.order === own[0])
      line.order = owners[2]
      if editsLists { own[1].lines = [ownLine] } else { ownLine.order = own[1] }
      own[2].lines = [OrderLine(context: child), OrderLine(context: child)]
      own[2].lines[0].number = 1
    } else {
      let ownPiece = try #require(own[0].pieces.first)
      #expect(own[2].pieces == [] && ownPiece.order === own[0])
      piece.order = owners[2]
      if editsLists { own[1].pieces = [ownPiece] } else { ownPiece.order = own[1] }
      own[2].pieces = [Piece(context: child), Piece(context: child)]
    }
    try child.save()
    let counts = [0, 1, 2]
    #expect(owners.map { isOrdered ? $0.lines.count : $0.pieces.count } == counts)
    #expect((isOrdered ? line.order : piece.order) === owners[1])
    #expect(!isOrdered || owners[2].lines.map(\.number) == [1, 0])
    try parent.save()
    let stored = owners.map { fixture.context().object(Order.self, with: $0.objectID) }
    #expect(stored.map { isOrdered ? $0.lines.count : $0.pieces.count } == counts)
    #expect(!isOrdered || stored[2].lines.map(\.number) == [1, 0])
  }

  /// The member already has the owner that the child sets, because the child read it earlier.
  @Test(.evidence("N-02"), .evidence("R-01"), arguments: [false, true])
  func `an edit of members that only the owner shows is saved to the parent`(adds: Bool) throws {
    let fixture = try GraphFixture(orders)
    let parent = fixture.context()
    let (piece, order) = (Piece(context: parent), Order(context: parent))
    if adds { order.pieces = [piece] }
    try parent.save()
    let child = fixture.child(of: parent)
    let ownPiece = child.object(Piece.self, with: piece.objectID)
    let own = child.object(Order.self, with: order.objectID)
    #expect((ownPiece.order === own) == adds)
    piece.order = adds ? nil : order
    // The piece has an edit, so the fetch does not read it again.
    ownPiece.number = 5
    _ = try child.fetch(FetchRequest<Order>())
    _ = try child.fetch(FetchRequest<Piece>())
    #expect(own.pieces == (adds ? [] : [ownPiece]))
    own.pieces = adds ? [ownPiece] : []
    try child.save()
    #expect(order.pieces == (adds ? [piece] : []) && (piece.order === order) == adds)
    try parent.save()
    let stored = fixture.context().object(Order.self, with: order.objectID)
    #expect(stored.pieces.count == (adds ? 1 : 0))
  }

  @Test(.evidence("N-03"), arguments: [false, true])
  func `an automatically merging grandchild shows what its parent saves`(isMerging: Bool) throws {
    let fixture = try GraphFixture()
    let id = try fixture.person("Ada", age: 1)
    let middle = fixture.child(of: fixture.context())
    let inner = fixture.child(of: middle)
    inner.automaticallyMergesChangesFromParent = isMerging
    let copy: Person = inner.object(with: id)
    #expect(copy.age == 1 && copy.cars == [])
    let ada: Person = middle.object(with: id)
    ada.age = 2
    Car(context: middle).owner = ada
    try middle.save()
    #expect(copy.age == (isMerging ? 2 : 1) && copy.cars.count == (isMerging ? 1 : 0))
  }

  enum Deletion: CaseIterable { case unsaved, saved, byOthers }

  @Test(.evidence("C-06"), .evidence("N-04"), arguments: Deletion.allCases, [false, true])
  func `a child does not show references that its parent rejected`(
    deletion: Deletion, editsMembers: Bool
  ) throws {
    let fixture = try GraphFixture(orders)
    let former = try fixture.saved { other in
      (order: Order(context: other), label: Label(context: other), piece: Piece(context: other))
    }
    let (orderID, labelID) = (former.order.objectID, former.label.objectID)
    let parent = fixture.context()
    let child = fixture.child(of: parent)
    let order = child.object(Order.self, with: orderID)
    let label = child.object(Label.self, with: labelID)
    let piece = child.object(Piece.self, with: former.piece.objectID)
    #expect(order.title == "" && order.lines == [] && order.pieces == [] && order.labels == [])
    #expect(label.name == "" && piece.number == 0)
    if deletion == .byOthers {
      try fixture.saved { $0.delete($0.object(Order.self, with: orderID)) }
    } else {
      parent.delete(parent.object(Order.self, with: orderID))
      if deletion == .saved { try parent.save() }
    }
    let line = OrderLine(context: child)
    if editsMembers {
      order.lines = [line]
      order.pieces = [piece]
      order.labels = [label]
    } else {
      line.order = order
      piece.order = order
      label.orders = [order]
    }
    (label.name, piece.number) = ("edited", 5)
    try child.save()
    #expect(!child.hasChanges && line.order == nil && piece.order == nil && label.orders == [])
    #expect(label.name == "edited" && piece.number == 5)
    try parent.save()
    let fresh = fixture.context()
    #expect(try fresh.fetch(FetchRequest<OrderLine>()).map(\.order) == [nil])
    #expect(fresh.object(Label.self, with: labelID).orders == [])
    #expect(fresh.object(Label.self, with: labelID).name == "edited")
  }

  @Test(.evidence("N-04"), arguments: [false, true], [false, true])
  func `edits of an object that the root has deleted are discarded`(
    isHeld: Bool, isSaved: Bool
  ) throws {
    let fixture = try GraphFixture()
    let id = try fixture.person("Ada")
    let chain = fixture.chain(depth: 2)
    let (root, middle, child) = (chain.contexts[0], chain.contexts[1], chain.contexts[2])
    let held = isHeld ? try middle.fetch(FetchRequest<Person>()) : []
    #expect(held.allSatisfy { $0.name == "Ada" })
    let ada = child.object(Person.self, with: id)
    ada.nickname = "edited"
    let car = Car(context: child)
    car.owner = ada
    root.delete(root.object(Person.self, with: id))
    if isSaved { try root.save() }
    try child.save()
    #expect(try middle.fetch(FetchRequest<Person>()).isEmpty)
    #expect(try middle.fetch(FetchRequest<Car>()).map { $0.owner?.name } == [nil])
    #expect(car.owner == nil)
    withExtendedLifetime(held) {}
  }
}
