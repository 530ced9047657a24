import Heartwood
import HeartwoodTestSupport
import Testing

/// Changes the same towns in two contexts, and checks their derived attributes.
private final class DerivedRun {
  private let fixture: GraphFixture
  private let contexts: [ManagedObjectContext]
  private var random: SeededGenerator
  private var lastName = 0

  init(_ policy: MergePolicy, seed: UInt64) throws {
    let fixture = try GraphFixture(towns)
    self.fixture = fixture
    contexts = (0..<2).map { _ in fixture.context() }
    random = SeededGenerator(seed: seed)
    for context in contexts {
      context.retainsRegisteredObjects = true
      context.mergePolicy = policy
    }
  }

  func run(steps: Int) throws {
    for step in 0..<steps {
      let context = contexts[random.below(2)]
      switch random.below(100) {
      case 0..<8: Town(context: context).name = newName()
      case 8..<24: try assignValues(to: House(context: context), context)
      case 24..<28: try assignValues(to: Stop(context: context), context)
      case 28..<31: Team(context: context).name = newName()
      case 31..<44: try change(context)
      case 44..<58: try one(House.self, context).map { try assignValues(to: $0, context) }
      case 58..<64: try one(Stop.self, context).map { try assignValues(to: $0, context) }
      case 64..<72: try join(context)
      case 72..<76: try one(Town.self, context).map { context.delete($0) }
      case 76..<80: try one(House.self, context).map { context.delete($0) }
      case 80..<82: try one(Team.self, context).map { context.delete($0) }
      case 82..<84: context.rollback()
      case 84..<86: context.refreshAllObjects()
      default:
        try context.save()
        try check("step \(step)")
      }
    }
  }

  // MARK: Steps

  private func newName() -> String {
    lastName += 1
    return "Ñ\(lastName)"
  }

  private func one<M: ManagedObject>(_ type: M.Type, _ context: ManagedObjectContext) throws -> M? {
    let objects = try context.fetch(FetchRequest<M>())
    return objects.isEmpty ? nil : objects[random.below(objects.count)]
  }

  private func assignValues(to house: House, _ context: ManagedObjectContext) throws {
    if random.isTrue(in256: 128) { house.rooms = random.below(10) }
    if random.isTrue(in256: 64) { house.height = random.isTrue(in256: 128) ? 0.5 : nil }
    guard random.isTrue(in256: 160) else { return }
    house.town = random.isTrue(in256: 200) ? try one(Town.self, context) : nil
  }

  private func assignValues(to stop: Stop, _ context: ManagedObjectContext) throws {
    lastName += 1
    stop.number = lastName
    if random.isTrue(in256: 128) { stop.town = try one(Town.self, context) }
    if random.isTrue(in256: 128) { stop.next = try one(Town.self, context) }
  }

  private func change(_ context: ManagedObjectContext) throws {
    guard let town = try one(Town.self, context) else { return }
    if random.isTrue(in256: 128) { town.name = newName() }
    if random.isTrue(in256: 128) { town.alias = random.isTrue(in256: 128) ? newName() : nil }
    if random.isTrue(in256: 128) { town.inhabitants = random.below(1000) }
    if random.isTrue(in256: 32) { town.rooms = -1 }
  }

  private func join(_ context: ManagedObjectContext) throws {
    guard let town = try one(Town.self, context), let team = try one(Team.self, context) else {
      return
    }
    // Exclude objects that another context has deleted, because they belong to no context.
    if random.isTrue(in256: 128) {
      let teams = town.teams.filter { $0.managedObjectContext != nil }
      town.teams = teams.symmetricDifference([team])
    } else {
      let towns = team.towns.filter { $0.managedObjectContext != nil }
      team.towns = towns.symmetricDifference([town])
    }
  }

  private func check(_ label: String) throws {
    let context = fixture.context()
    try DerivedCheck(label: label, context: context).run()
  }
}

/// Compares the stored derived attributes with values computed from all objects.
private struct DerivedCheck {
  let label: String
  let context: ManagedObjectContext

  func run() throws {
    let houses = try context.fetch(FetchRequest<House>())
    for house in houses { try check(house) }
    for stop in try context.fetch(FetchRequest<Stop>()) { try check(stop) }
    for town in try context.fetch(FetchRequest<Town>()) {
      try check(town, houses.filter { $0.town === town })
    }
    for team in try context.fetch(FetchRequest<Team>()) { try check(team) }
  }

  private func expect<Value: Equatable>(_ found: Value, _ wanted: Value, _ name: String) throws {
    guard found != wanted else { return }
    throw GraphMismatch("\(label): \(name) is \(found) and not \(wanted)")
  }

  /// Returns a referenced town, or `nil` if it was deleted by another context.
  private func there(_ town: Town?) throws -> Town? {
    guard let town else { return nil }
    return try context.existingObject(Town.self, with: town.objectID)
  }

  private func check(_ house: House) throws {
    let town = try there(house.town)
    try expect(house.townName, town?.name ?? "nowhere", "townName")
    try expect(house.townAlias, town?.alias, "townAlias")
  }

  private func check(_ stop: Stop) throws {
    let (town, next) = (try there(stop.town), try there(stop.next))
    try expect(stop.townName, town?.name, "stop.townName")
    try expect(stop.nextName, next?.name, "nextName")
  }

  private func check(_ town: Town, _ own: [House]) throws {
    let rooms = own.map(\.rooms)
    try expect(town.searchName, town.name.lowercased().replacing("ñ", with: "n"), "searchName")
    try expect(town.smallAlias, town.alias?.lowercased(), "smallAlias")
    try expect(town.houseCount, own.count, "houseCount")
    try expect(town.rooms, rooms.reduce(0, +), "rooms")
    try expect(town.fewestRooms, rooms.min(), "fewestRooms")
    try expect(town.mostRooms, rooms.max(), "mostRooms")
    let mean = rooms.isEmpty ? nil : Double(rooms.reduce(0, +)) / Double(rooms.count)
    try expect(town.meanRooms, mean, "meanRooms")
    try expect(town.height, own.compactMap(\.height).reduce(0, +), "height")
    try expect(town.stopCount, Int32(town.stops.count), "stopCount")
  }

  private func check(_ team: Team) throws {
    try expect(team.towns.filter { $0.teams.contains(team) }, team.towns, "a side of teams")
    let inhabitants = try team.towns.map { try there($0)?.inhabitants ?? 0 }
    try expect(team.townCount, Int8(team.towns.count), "townCount")
    try expect(team.fans, inhabitants.reduce(0, +), "fans")
  }
}

@Suite("Random changes of the sources of derived attributes")
struct DerivedRunTests {
  @Test(
    .evidence("D-02"), .evidence("D-03"),
    arguments: [
      MergePolicy.mergeByPropertyStoreTrump, .mergeByPropertyObjectTrump, .overwrite, .rollback,
    ], TestScale.seeds(quick: 1, all: 4))
  func `derived attributes equal a plain computation`(policy: MergePolicy, seed: UInt64) throws {
    do {
      try DerivedRun(policy, seed: seed).run(steps: 200)
    } catch {
      Issue.record("\(policy), seed \(seed): \(error)")
    }
  }
}
