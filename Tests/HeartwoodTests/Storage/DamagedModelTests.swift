import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

@Suite("A damaged model in a store")
struct DamagedModelTests {
  /// Creates a store, damages a value of its model, and opens it again with the given schema.
  private func open(
    _ key: String, _ schema: Schema = people, _ change: (inout [UInt8]) -> Void
  ) throws {
    let directory = try ScratchDirectory()
    let url = URL(filePath: directory.path(of: "store"))
    do {
      let container = try PersistentContainer(url: url, schema: people)
      let context = container.newContext()
      let person = Person(context: context)
      person.name = "Ada"
      for number in 1...3 {
        let car = Car(context: context)
        car.owner = person
        let club = Club(context: context)
        club.members = [person]
        Hall(context: context).club = club
        car.name = "\(number)"
      }
      try context.save()
      try container.store.close()
    }
    do {
      let store = try Store(at: url.path(percentEncoded: false))
      try store.write { transaction in
        let model = try transaction.keyspace("heartwood.model")
        var bytes = try #require(try model.get(key))
        change(&bytes)
        try model.put(key, bytes)
      }
      try store.close()
    }
    let container = try PersistentContainer(url: url, schema: schema)
    defer { try? container.store.close() }
    let context = container.newContext()
    if schema.version == 1 {
      for person in try context.fetch(FetchRequest<Person>()) { _ = person.cars.count }
    } else {
      for person in try context.fetch(FetchRequest<Later.Person>()) {
        _ = person.cars.count + person.clubs.count
        person.nickname += "!"
      }
      for club in try context.fetch(FetchRequest<Later.Club>()) { context.delete(club) }
    }
    try context.save()
  }

  @Test(.evidence("M-06")) func `a model with missing or duplicate entries is rejected`() throws {
    func replacing(_ text: String, _ other: String) -> (inout [UInt8]) -> Void {
      { bytes in
        let json = String(decoding: bytes, as: UTF8.self).replacing(text, with: other)
        bytes = Array(json.utf8)
      }
    }
    let changes: [(String, (inout [UInt8]) -> Void)] = [
      ("model", { $0 = [] }), ("model", { $0 = Array("{}".utf8) }),
      ("model", { $0.removeLast() }), ("store", { $0 = [1, 2, 3] }),
      ("model", replacing(#""name":"Car""#, #""name":"Person""#)),
    ]
    for (key, change) in changes {
      let error = #expect(throws: StorageError.self) { try open(key, people, change) }
      #expect(error?.kind == .corrupt)
    }
  }

  @Test(
    .evidence("M-06"), arguments: TestScale.some(Array(1...40 as ClosedRange<UInt64>), every: 5))
  func `a model with altered numbers never traps`(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    do {
      try open("model") { bytes in
        let digits = bytes.indices.filter { (48...57).contains(bytes[$0]) }
        bytes[digits[generator.below(digits.count)]] = UInt8(48 + generator.below(10))
      }
    } catch is StorageError {
    } catch is ObjectGraphError {
    }
  }

  @Test(
    .evidence("M-06"), arguments: TestScale.some(Array(100...140 as ClosedRange<UInt64>), every: 5))
  func `migrating a model with altered numbers never traps`(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    do {
      try open("model", Schema(version: 2, Later.Person.self)) { bytes in
        let digits = bytes.indices.filter { (48...57).contains(bytes[$0]) }
        bytes[digits[generator.below(digits.count)]] = UInt8(48 + generator.below(10))
      }
    } catch is StorageError {
    } catch is ObjectGraphError {
    }
  }
}

/// A later version of the model, with different relationships.
private enum Later {
  final class Person: ManagedObject {
    @Attribute var name: String = ""
    @Attribute var age: Int? = nil
    @Attribute var nickname: String = "none"
    @ToMany(inverse: \Car.owners) var cars: Set<Car>
    @OrderedToMany(inverse: \Club.members) var clubs: [Club]
    override class var entity: Entity { Entity("Person") { Index(\Person.nickname) } }
  }

  final class Car: ManagedObject {
    @Attribute var name: String = ""
    @OrderedToMany(renamedFrom: "owner") var owners: [Person]
  }

  final class Club: ManagedObject {
    @Attribute var name: String = ""
    @ToMany(inverse: \Hall.club) var halls: Set<Hall>
    @ToMany var members: Set<Person>
  }

  final class Hall: ManagedObject {
    @Attribute var number: Int = 0
    @ToOne var club: Club?
  }
}
