import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

@Suite("Object versions")
struct ObjectVersionTests {
  private func ages(_ versions: [ObjectVersion]) throws -> [Int?] {
    try versions.map { try $0.value("age") }
  }

  @Test(.evidence("QG-57")) func `versions come from the generations and the history`() throws {
    let fixture = try GraphFixture()
    let container = fixture.container
    let id = try fixture.person("Ada", age: 1)
    try container.keepGeneration(.current, as: "one")
    try fixture.change(id) { $0.age = 2 }
    try fixture.change(id) { $0.age = 3 }
    try container.keepGeneration(.current, as: "three")
    try fixture.person("Bob")
    let context = fixture.context()
    context.transactionAuthor = "Eve"
    context.name = "end"
    context.delete(context.object(Person.self, with: id))
    try context.save()
    try fixture.person("Cid")
    try fixture.waitUntilOnlyKept(2)
    let one = try #require(try container.keptGeneration("one"))
    let three = try #require(try container.keptGeneration("three"))
    let all = try container.versions(of: id, from: one)
    #expect(try ages(all) == [1, nil, 3, nil])
    #expect(all.map(\.isDeleted) == [false, false, false, true])
    #expect(all.map { $0.generation == nil } == [false, true, false, false])
    #expect(all[0].generation == one && all[2].generation == three)
    #expect(
      all.map(\.change) == [
        .insert, .update(properties: ["age"]),
        .update(properties: ["age"]), .delete(tombstone: ["name": "Ada"]),
      ])
    #expect(all.map(\.author) == [nil, nil, nil, "Eve"] && all[3].contextName == "end")
    #expect(zip(all, all.dropFirst()).allSatisfy { $0.date <= $1.date })
    #expect(try all[0].value("name") == "Ada")
    #expect(throws: StorageError.self) { try all[0].value("name", as: Int.self) }
    #expect(try ages(try container.versions(of: id, from: one, to: three)) == [1, nil, 3])
    #expect(try ages(try container.versions(of: id, from: three, to: three)) == [3])
  }

  @Test(.evidence("QG-57")) func `without history, versions come from the readable generations`()
    throws
  {
    let fixture = try GraphFixture()
    let container = fixture.container
    let start = try fixture.person("Bob")
    try container.keepGeneration(.current, as: "start")
    let id = try fixture.person("Ada", age: 1)
    try container.keepGeneration(.current, as: "one")
    try fixture.change(id) { $0.age = 2 }
    try fixture.change(id) { $0.age = 3 }
    try container.keepGeneration(.current, as: "three")
    try fixture.change(start) { $0.age = 5 }
    let newest = try #require(try container.fetchHistory(after: nil).last)
    try container.deleteHistory(before: newest.token)
    try fixture.waitUntilOnlyKept(3)
    let tokens = try container.namedGenerations.map(\.token)
    let all = try container.versions(of: id, from: tokens[0])
    #expect(try ages(all) == [1, 3])
    #expect(all.allSatisfy { $0.author == nil && $0.change == nil && $0.historyToken == nil })
    #expect(all.map(\.generation) == [tokens[1], tokens[2]])
    let context = fixture.context()
    context.delete(context.object(Person.self, with: id))
    try context.save()
    #expect(try container.versions(of: id, from: tokens[2]).map(\.isDeleted) == [false, true])
    #expect(try container.versions(of: id, from: .current).isEmpty)
    let foreign = try GraphFixture()
    #expect(throws: ObjectGraphError.self) {
      try container.versions(of: try foreign.person("Ada"), from: tokens[0])
    }
    let new = Person(context: context)
    #expect(throws: ObjectGraphError.self) {
      try container.versions(of: new.objectID, from: tokens[0])
    }
  }
  @Test(.evidence("QG-57"), .evidence("H-04"))
  func `versions without a history come from the generations`() throws {
    var options = ContainerOptions()
    options.isInMemory = true
    options.tracksHistory = false
    let container = try PersistentContainer(
      url: URL(filePath: "/versions"), schema: people, options: options)
    let context = container.newContext()
    let person = Person(context: context)
    try context.save()
    try container.keepGeneration(.current, as: "old")
    let id = person.objectID
    context.delete(person)
    try context.save()
    try container.keepGeneration(.current, as: "deleted")
    Car(context: context).name = "Volvo"
    try context.save()
    let old = try #require(try container.keptGeneration("old"))
    let versions = try container.versions(of: id, from: old)
    #expect(versions.map(\.isDeleted) == [false, true])
    #expect(versions.allSatisfy { $0.author == nil && $0.date > .distantPast })
  }

}
