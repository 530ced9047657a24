import Foundation
import Heartwood

final class Person: ManagedObject {
  @Attribute var name: String = ""
  @Attribute var age: Int = 0
  @Attribute var nickname: String? = nil
  @ToMany(inverse: \Car.owner, deleteRule: .cascade) var cars: Set<Car>
  @ToMany(inverse: \Club.members) var clubs: Set<Club>
  @Transient var awakenings = 0

  override class var entity: Entity {
    Entity("Person") {
      Unique(\Person.name)
      Index(\Person.age)
    }
  }

  override func awakeFromInsert() { awakenings += 1 }
  override func awakeFromFetch() { awakenings += 1 }
}

final class Car: ManagedObject {
  @Attribute var name: String = ""
  @ToOne var owner: Person?
}

final class Club: ManagedObject {
  @Attribute var name: String = ""
  @OrderedToMany(inverse: \Hall.club, deleteRule: .deny) var halls: [Hall]
  @ToMany var members: Set<Person>
}

final class Hall: ManagedObject {
  @Attribute var number: Int = 0
  @ToOne var club: Club?
  @ToOne(inverse: \Keeper.hall) var keeper: Keeper?
  @ToOne(inverse: \Hall.previous) var next: Hall?
  @ToOne var previous: Hall?
}

final class Keeper: ManagedObject {
  @Attribute var id: UUID = UUID()
  @ToOne var hall: Hall?
}

let people = Schema(Person.self, Club.self, Keeper.self)

enum Severity: Int, Codable, AttributeValue { case low = 1, high = 7 }
enum Colour: String, Codable, AttributeValue { case red, green }
struct Place: Codable, Equatable, AttributeValue { var latitude, longitude: Double }

/// A class with an attribute of every type.
class Everything: ManagedObject {
  @Attribute var flag: Bool = true
  @Attribute var int8: Int8 = -8
  @Attribute var int16: Int16 = -16
  @Attribute var int32: Int32 = -32
  @Attribute var int64: Int64 = -64
  @Attribute var int: Int = .min
  @Attribute var uint8: UInt8 = .max
  @Attribute var uint16: UInt16 = .max
  @Attribute var uint32: UInt32 = .max
  @Attribute var uint64: UInt64 = .max
  @Attribute var uint: UInt = 7
  @Attribute var double: Double = -0.0
  @Attribute var float: Float = 1.1
  @Attribute var text: String = "naïve \u{0} 🌲"
  @Attribute var date: Date = Date(timeIntervalSinceReferenceDate: 1.25)
  @Attribute var data: Data = Data([0, 1, 255])
  @Attribute var uuid: UUID = UUID()
  @Attribute var url: URL = URL(filePath: "/a")
  @Attribute var decimal: Decimal = Decimal(string: "12345678901234567890.123") ?? 0
  @Attribute var optional: Int? = 5
  @Attribute var absent: String? = nil
  @Attribute var list: [Int] = [3, 1, 2]
  @Attribute var names: Set<String> = ["a", "b"]
  @Attribute var severity: Severity = .high
  @Attribute var colour: Colour? = .green
  @Attribute var place: Place = Place(latitude: 1.5, longitude: -2)
  @Transient var note = "kept in memory"
}

/// A subclass that inherits an attribute of every type.
final class More: Everything {
  @Attribute var id: Int = 1
  @ToOne var other: Everything?
}
