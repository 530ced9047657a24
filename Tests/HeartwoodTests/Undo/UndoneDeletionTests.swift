import Heartwood
import HeartwoodTestSupport
import Testing

private final class Depot: ManagedObject {
  @Attribute var name: String = ""
  @ToMany(inverse: \Van.depot) var vans: Set<Van>
  @OrderedToMany(inverse: \Bus.depot) var buses: [Bus]
  @ToMany(inverse: \Route.depots) var routes: Set<Route>
  @OrderedToMany(inverse: \Gate.depot, deleteRule: .cascade) var gates: [Gate]
}

private final class Van: ManagedObject {
  @Attribute var number: Int = 0
  @ToOne var depot: Depot?
}

private final class Bus: ManagedObject {
  @Attribute var number: Int = 0
  @ToOne var depot: Depot?
}

private final class Route: ManagedObject {
  @Attribute var number: Int = 0
  @OrderedToMany var depots: [Depot]
}

private final class Gate: ManagedObject {
  @Attribute var number: Int = 0
  @ToOne var depot: Depot?
}

@Suite("Undoing deletions that were saved")
struct UndoneDeletionTests {
  private let fixture: GraphFixture
  private let context: ManagedObjectContext
  private let depot: Depot
  private let vans: [Van]
  private let buses: [Bus]
  private let routes: [Route]
  private let gates: [Gate]

  init() throws {
    fixture = try GraphFixture(
      Schema(Depot.self, Van.self, Bus.self, Route.self, Gate.self))
    context = fixture.context()
    let context = context
    context.tracksUndo = true
    depot = Depot(context: context)
    vans = (0..<3).map { _ in Van(context: context) }
    buses = (0..<3).map { _ in Bus(context: context) }
    routes = (0..<3).map { _ in Route(context: context) }
    gates = (0..<3).map { _ in Gate(context: context) }
    depot.name = "depot"
    depot.vans = Set(vans)
    depot.buses = buses
    depot.routes = Set(routes)
    depot.gates = gates
    for (number, gate) in gates.enumerated() { gate.number = number }
    try context.save()
  }

  /// Deletes one member of each relationship that the depot's deletion only clears.
  private func deleteMembersElsewhere() throws {
    let members: [ManagedObject] = [vans[0], buses[0], routes[0]]
    try fixture.saved { other in
      for member in members {
        other.delete(
          try #require(try other.existingObject(ManagedObject.self, with: member.objectID)))
      }
    }
  }

  private func storedCounts() throws -> [Int] {
    let stored = try #require(try fixture.context().fetch(FetchRequest<Depot>()).first)
    return [stored.vans.count, stored.buses.count, stored.routes.count, stored.gates.count]
  }

  @Test(.evidence("G-03"), .evidence("C-06"), arguments: MergePolicy.Each.allCases, [false, true])
  func `undoing a saved deletion does not restore members deleted by other contexts`(
    policy: MergePolicy.Each, undoesAgain: Bool
  ) throws {
    context.mergePolicy = policy.policy
    context.delete(depot)
    try context.save()
    try deleteMembersElsewhere()
    for transaction in try fixture.container.fetchHistory(after: nil) {
      try context.mergeChanges(from: transaction)
    }
    context.undo()
    if undoesAgain {
      context.redo()
      context.undo()
    }
    #expect(depot.isInserted && depot.name == "depot")
    #expect(depot.vans == Set(vans[1...]) && depot.buses == Array(buses[1...]))
    #expect(depot.routes == Set(routes[1...]) && depot.gates == gates)
    #expect(vans[1...].allSatisfy { $0.depot === depot })
    #expect(routes[1...].allSatisfy { $0.depots == [depot] })
    try context.save()
    #expect(try storedCounts() == [2, 2, 2, 3])
    #expect(depot.vans.count == 2 && depot.gates.map(\.number) == [0, 1, 2])
  }

  @Test(.evidence("G-03"), .evidence("C-06"))
  func `undoing a saved deletion omits members whose deletion was not merged`() throws {
    context.mergePolicy = .mergeByPropertyStoreTrump
    context.delete(depot)
    try context.save()
    try deleteMembersElsewhere()
    context.undo()
    #expect(depot.vans == Set(vans[1...]) && depot.buses == Array(buses[1...]))
    #expect(depot.routes == Set(routes[1...]) && depot.gates == gates)
    try context.save()
    #expect(try storedCounts() == [2, 2, 2, 3])
  }

  @Test(.evidence("G-03"))
  func `undoing a saved deletion restores members that this context has deleted since`() throws {
    context.delete(depot)
    try context.save()
    for member in [vans[0], buses[0], routes[0]] as [ManagedObject] { context.delete(member) }
    try context.save()
    context.endUndoGroup()
    context.undo()
    context.undo()
    #expect(depot.vans == Set(vans) && depot.buses == buses && depot.routes == Set(routes))
    try context.save()
    #expect(try storedCounts() == [3, 3, 3, 3])
  }

  @Test(.evidence("G-02"), arguments: [false, true], [false, true])
  func `undoing a deletion does not restore an object that another context has deleted`(
    isMember: Bool, insertsAgain: Bool
  ) throws {
    let van = vans[0]
    if !isMember { van.depot = nil }
    try context.save()
    context.tracksUndo = false
    context.tracksUndo = true
    context.delete(van)
    context.endUndoGroup()
    if insertsAgain { context.insert(van) }
    try deleteMembersElsewhere()
    for transaction in try fixture.container.fetchHistory(after: nil) {
      try context.mergeChanges(from: transaction)
    }
    while context.canUndo { context.undo() }
    #expect(!context.hasChanges && depot.vans == Set(vans[1...]))
    #expect(try context.count(for: FetchRequest<Van>()) == 2)
    while context.canRedo { context.redo() }
    while context.canUndo { context.undo() }
    #expect(!context.hasChanges && depot.vans == Set(vans[1...]))
  }
}
