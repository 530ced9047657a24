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

  @Test(.evidence("M-06")) func `a model without its other metadata is rejected`() throws {
    for (key, value) in [("store", nil), ("changes", [1, 2, 3])] as [(String, [UInt8]?)] {
      let store = try Store.inMemory()
      _ = try PersistentContainer(store: store, schema: people)
      try replace(key, in: store) { _ in value }
      let error = #expect(throws: StorageError.self) {
        try PersistentContainer(store: store, schema: people)
      }
      #expect(error?.kind == .corrupt)
    }
  }

  /// Replaces or removes a value of a store's model.
  private func replace(
    _ key: String, in store: Store, _ change: ([UInt8]) -> [UInt8]?
  ) throws {
    try store.write { transaction in
      let model = try transaction.keyspace("heartwood.model")
      let value = change(try #require(try model.get(key)))
      try model.delete(key)
      if let value { try model.put(key, value) }
    }
  }

  @Test(
    .evidence("E-10"),
    arguments: [
      ("\"lastEntity\":", "32767", "The store has run out of entity numbers, so Added"),
      ("\"lastProperty\":", "65535", "The store has run out of property numbers, so Person.added"),
    ])
  func `a store that has no numbers left refuses additions to its model`(
    key: String, number: String, message: String
  ) throws {
    let store = try Store.inMemory()
    _ = try PersistentContainer(store: store, schema: people)
    try replace("model", in: store) { bytes in
      let parts = String(decoding: bytes, as: UTF8.self).components(separatedBy: key)
      let rest = parts.dropFirst().map { number + $0.drop { $0.isNumber } }
      return Array(([parts[0]] + rest).joined(separator: key).utf8)
    }
    let types: [ManagedObject.Type] =
      number == "32767" ? [Person.self, Club.self, Keeper.self, Added.self] : [Wider.Person.self]
    let error = #expect(throws: ObjectGraphError.self) {
      try PersistentContainer(store: store, schema: Schema(types: types))
    }
    #expect(error?.kind == .incompatibleSchema)
    #expect(error?.message.hasPrefix(message) == true, "\(error as Any)")
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

private final class Added: ManagedObject {}

private enum Wider {
  final class Person: ManagedObject {
    @Attribute var name: String = ""
    @Attribute var added: Int = 0
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
