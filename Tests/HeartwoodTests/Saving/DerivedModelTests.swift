import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

private final class Loose: ManagedObject {
  @Transient var note = ""
  @Attribute var name: String = ""
  @Attribute var upper: String = ""
  @Attribute var upperOfUpper: String = ""
  @Attribute var upperOfNote: String = ""
  @Attribute var upperOfConstant: String = ""
  @Attribute var constantCopy: String? = nil
  @Attribute var otherUpper: String? = nil
  @Attribute var otherCount: Int = 0
  @ToOne var other: Loose?

  var constant: String { "the same in all" }
  var none: Loose? { nil }
  var others: [Loose] { [] }

  override class var entity: Entity {
    Entity("Loose") {
      Derived(\Loose.note, .uppercase(\Loose.name))
      Derived(\Loose.constant, .uppercase(\Loose.name))
      Derived(\Loose.upper, .uppercase(\Loose.name))
      Derived(\Loose.upper, .lowercase(\Loose.name))
      Derived(\Loose.upperOfUpper, .uppercase(\Loose.upper))
      Derived(\Loose.upperOfNote, .uppercase(\Loose.note))
      Derived(\Loose.upperOfConstant, .uppercase(\Loose.constant))
      Derived(\Loose.otherUpper, .copy(of: \Loose.other, \Loose.upper))
      Derived(\Loose.constantCopy, .copy(of: \Loose.none, \Loose.name))
      Derived(\Loose.otherCount, .count(\Loose.others))
    }
  }
}

/// Models of a program before and after it declares derived attributes.
private enum Stage {
  enum Before {
    final class Town: ManagedObject {
      @Attribute var name: String = ""
      @Attribute var houseCount: Int = 7
      @ToMany(inverse: \House.town) var houses: Set<House>
      override class var entity: Entity { Entity("Town") { Index(\Town.houseCount) } }
    }

    final class House: ManagedObject {
      @Attribute var rooms: Int = 1
      @ToOne var town: Town?
    }
  }

  class After: ManagedObject {
    @Attribute var name: String = ""
    @Attribute var houseCount: Int = 7
    @Attribute var rooms: Int = 0
    @Attribute var searchName: String = ""
    @Attribute var saved: Date? = nil
    @ToMany(inverse: \AfterHouse.town) var houses: Set<AfterHouse>
    override class var entity: Entity {
      Entity("Town") {
        Index(\After.houseCount)
        Unique(\After.searchName)
        Derived(\After.searchName, .canonical(\After.name))
        Derived(\After.houseCount, .count(\After.houses))
        Derived(\After.rooms, .sum(\After.houses, \AfterHouse.rooms))
        Derived(\After.saved, .now)
      }
    }
  }

  final class AfterHouse: ManagedObject {
    @Attribute var rooms: Int = 1
    @Attribute var townName: String = ""
    @ToOne var town: After?
    override class var entity: Entity {
      Entity("House") { Derived(\AfterHouse.townName, .copy(of: \AfterHouse.town, \After.name)) }
    }
  }

  /// A later version of the class, in which `searchName` is derived differently.
  final class Shouting: ManagedObject {
    @Attribute var name: String = ""
    @Attribute var searchName: String = ""
    override class var entity: Entity {
      Entity("Town") { Derived(\Shouting.searchName, .uppercase(\Shouting.name)) }
    }
  }
}

/// A class with derived attributes and a subclass that declares one more.
private class Vehicle: ManagedObject {
  @Attribute var name: String = ""
  @Attribute var searchName: String = ""
  @Attribute var garageName: String? = nil
  @ToOne var garage: Garage?
  override class var entity: Entity {
    Entity("Vehicle") {
      Derived(\Vehicle.searchName, .canonical(\Vehicle.name))
      Derived(\Vehicle.garageName, .copy(of: \Vehicle.garage, \Garage.name))
    }
  }
}

private final class Truck: Vehicle {
  @Attribute var load: Int = 0
  @Attribute var garageCode: Int? = nil
  override class var entity: Entity {
    Entity("Truck") { Derived(\Truck.garageCode, .copy(of: \Truck.garage, \Garage.code)) }
  }
}

private class Garage: ManagedObject {
  @Attribute var name: String = ""
  @Attribute var code: Int = 0
  @Attribute var vehicleCount: Int = 0
  @OrderedToMany(inverse: \Vehicle.garage) var vehicles: [Vehicle]
  override class var entity: Entity {
    Entity("Garage") { Derived(\Garage.vehicleCount, .count(\Garage.vehicles)) }
  }
}

private final class Station: Garage {}

@Suite("A model with derived attributes")
struct DerivedModelTests {
  @Test(.evidence("D-07"))
  func `derived attributes that cannot be computed are rejected`() throws {
    let error = try #require(throws: ObjectGraphError.self) {
      try PersistentContainer.inMemory(schema: Schema(Loose.self))
    }
    let message = "\(error)"
    for reason in [
      "Loose.note cannot be derived: The property is not a stored", "Loose.constant",
      "Loose.upper cannot be derived: The attribute is already derived",
      "Loose.upperOfUpper cannot be derived: upper is itself derived",
      "Loose.upperOfNote cannot be derived: note is not a stored attribute",
      "Loose.upperOfConstant cannot be derived: ",
      "Loose.otherUpper cannot be derived: upper is itself derived",
      "Loose.constantCopy cannot be derived: ", "Loose.otherCount cannot be derived: ",
    ] {
      #expect(message.contains(reason), "\(reason)")
    }
    #expect(error.kind == .invalidModel && error.failures.count == 9)
  }

  @Test func `derived attributes are inherited and include objects of subclasses`() throws {
    let fixture = try GraphFixture(Schema(Truck.self, Station.self))
    let context = fixture.context()
    let station = Station(context: context)
    station.name = "Émile"
    station.code = 3
    let truck = Truck(context: context)
    truck.name = "Ünal"
    truck.garage = station
    let vehicle = Vehicle(context: context)
    vehicle.garage = station
    try context.save()
    #expect(truck.searchName == "unal" && truck.garageName == "Émile" && truck.garageCode == 3)
    #expect(station.vehicleCount == 2)
    station.code = 4
    station.name = "Zoé"
    context.delete(vehicle)
    try context.save()
    let seen: Truck = fixture.context().object(with: truck.objectID)
    #expect(seen.garageCode == 4 && seen.garageName == "Zoé" && seen.garage?.vehicleCount == 1)
  }

  /// A schema in which towns have no houses if it does not declare any.
  private static func schema(_ version: Int, _ types: [ManagedObject.Type]) -> Schema {
    Schema(version: version, removing: ["House"], types: types)
  }

  /// Opens a store, runs `body` in a context, saves the context, and verifies the store.
  private func open(
    _ url: URL, _ version: Int, _ types: ManagedObject.Type...,
    body: (ManagedObjectContext) throws -> Void
  ) throws {
    let container = try PersistentContainer(
      url: url, schema: Self.schema(version, types))
    let context = container.newContext()
    try body(context)
    try context.save()
    #expect(try container.store.verify().findings == [])
    try container.store.close()
  }

  @Test(.evidence("D-08"))
  func `a migration computes new derived attributes`() throws {
    let directory = try ScratchDirectory()
    let url = URL(filePath: directory.path(of: "store"))
    try open(url, 1, Stage.Before.Town.self) { context in
      for number in 0..<3 {
        let town = Stage.Before.Town(context: context)
        town.name = "Ö\(number)"
        for _ in 0..<number { Stage.Before.House(context: context).town = town }
      }
      Stage.Before.Town(context: context).name = "O2"
    }
    // The migration fails because two towns would have the same unique name.
    let error = try #require(throws: ObjectGraphError.self) {
      try open(url, 2, Stage.After.self) { _ in }
    }
    #expect(error.kind == .incompatibleSchema && error.message.contains("searchName"))
    try open(url, 1, Stage.Before.Town.self) { context in
      let towns = try context.fetch(FetchRequest<Stage.Before.Town>())
      #expect(towns.allSatisfy { $0.houseCount == 7 })
      try #require(towns.last).name = "P"
    }
    try open(url, 2, Stage.After.self) { context in
      let towns = try context.fetch(FetchRequest<Stage.After>(sort: [SortDescriptor(\.name)]))
      #expect(towns.map(\.searchName) == ["p", "o0", "o1", "o2"])
      #expect(towns.map(\.houseCount) == [0, 0, 1, 2] && towns.map(\.rooms) == [0, 0, 1, 2])
      #expect(towns.allSatisfy { $0.saved == nil })
      let byCount = FetchRequest<Stage.After>(where: #Predicate { $0.houseCount == 2 })
      #expect(try context.fetch(byCount) == [towns[3]])
      #expect(towns[3].houses.allSatisfy { $0.townName == "Ö2" })
      towns[0].name = "Q"
    }
    try open(url, 3, Stage.Shouting.self) { context in
      let towns = try context.fetch(FetchRequest<Stage.Shouting>())
      #expect(towns.map(\.searchName) == ["Ö0", "Ö1", "Ö2", "Q"])
    }
    // Opening the store again derives nothing and writes nothing.
    let container = try PersistentContainer(
      url: url, schema: Self.schema(3, [Stage.Shouting.self]))
    #expect(container.store.statistics.activity.commitCount == 0)
  }
}
