import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

@Suite("Batch updates of derived attributes")
struct DerivedBatchTests {
  /// Sets attributes of every class that are derived over a relationship.
  private func setDerived(_ context: ManagedObjectContext, isAlone: Bool) throws {
    try context.execute(
      BatchUpdateRequest<Town> { row in
        (row[\.houseCount], row[\.stopCount], row[\.rooms]) = (99, 99, 99)
        (row[\.mostRooms], row[\.meanRooms], row[\.height]) = (99, nil, 99)
        if !isAlone { row[\.alias] = "alias" }
      })
    try context.execute(
      BatchUpdateRequest<House> { row in
        (row[\.townName], row[\.townAlias]) = ("set", "set")
        if !isAlone { row[\.height] = 2 }
      })
    try context.execute(
      BatchUpdateRequest<Stop> { row in
        (row[\.townName], row[\.nextName]) = ("set", "set")
        if !isAlone { row[\.number] = 5 }
      })
    try context.execute(
      BatchUpdateRequest<Team> { row in
        (row[\.townCount], row[\.fans]) = (99, 99)
        if !isAlone { row[\.name] = "team" }
      })
  }

  @Test(.evidence("D-09"), .evidence("D-03"), .evidence("BR-05"), arguments: [true, false])
  func `do not change attributes derived from related objects`(isAlone: Bool) throws {
    let fixture = try GraphFixture(towns)
    let context = fixture.context()
    let (town, house) = (Town(context: context), House(context: context))
    let (stop, team) = (Stop(context: context), Team(context: context))
    (town.name, town.inhabitants, house.rooms) = ("Rome", 7, 4)
    (house.town, stop.town, stop.next, team.towns) = (town, town, town, [town])
    try context.save()
    let saved = town.saved
    try setDerived(fixture.context(), isAlone: isAlone)
    let fresh = fixture.context()
    let stored = try #require(try fresh.fetch(FetchRequest<Town>()).first)
    #expect(stored.houseCount == 1 && stored.stopCount == 1 && stored.rooms == 4)
    #expect(stored.mostRooms == 4 && stored.meanRooms == 4 && stored.height == (isAlone ? 0 : 2))
    #expect((stored.saved == saved) == isAlone)
    for (count, found) in [(1, 1), (99, 0)] {
      let request = FetchRequest<Town>(where: #Predicate { $0.houseCount == count })
      #expect(try fresh.count(for: request) == found)
    }
    let houses = try fresh.fetch(FetchRequest<House>())
    #expect(houses.map(\.townName) == ["Rome"])
    #expect(houses.map(\.townAlias) == [isAlone ? nil : "alias"])
    let stops = try fresh.fetch(FetchRequest<Stop>())
    #expect(stops.map(\.townName) == ["Rome"] && stops.map(\.nextName) == ["Rome"])
    let teams = try fresh.fetch(FetchRequest<Team>())
    #expect(teams.map(\.townCount) == [1] && teams.map(\.fans) == [7])
    // A request that changes nothing puts no edits in conflict.
    town.alias = "edited"
    guard !isAlone else { return try context.save() }
    let error = #expect(throws: ObjectGraphError.self) { try context.save() }
    #expect(error?.kind == .mergeConflict)
  }
}
