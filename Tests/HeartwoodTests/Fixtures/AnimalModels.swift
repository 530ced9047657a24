import Foundation
import Heartwood

/// A class with attributes of most types.
///
/// The attributes `alias` and `paws` are like `name` and `legs`, but have no index.
class Animal: ManagedObject {
  @Attribute var name: String = ""
  @Attribute var alias: String = ""
  @Attribute var nick: String? = nil
  @Attribute var legs: Int = 0
  @Attribute var paws: Int = 0
  @Attribute var rank: Int? = nil
  @Attribute var weight: Double = 0
  @Attribute var length: Float = 0
  @Attribute var isTame: Bool = false
  @Attribute var born: Date = Date(timeIntervalSinceReferenceDate: 0)
  @Attribute var price: Decimal = 0
  @Attribute var code: UUID = UUID()
  @Attribute var big: UInt64 = 0
  @Attribute var mood: Severity = .low
  @Attribute var place: Place? = nil
  @Attribute var photo: Data? = nil
  @Transient var note = ""
  @ToOne var home: Home?
  @ToMany(inverse: \Animal.admirers) var idols: Set<Animal>
  @ToMany var admirers: Set<Animal>

  override class var entity: Entity {
    Entity("Animal") {
      Index(\Animal.name)
      Index(\Animal.legs)
      Index(\Animal.rank, \Animal.legs)
      Index(\Animal.weight)
    }
  }
}

final class Dog: Animal {
  @Attribute var tricks: Int = 0
  override class var entity: Entity { Entity("Dog") }
}

final class Home: ManagedObject {
  @Attribute var street: String = ""
  @Attribute var rooms: Int? = nil
  @ToOne var town: City?
  @ToMany(inverse: \Animal.home) var animals: Set<Animal>
}

final class City: ManagedObject {
  @Attribute var name: String = ""
  @OrderedToMany(inverse: \Home.town) var homes: [Home]
}

let animals = Schema(Animal.self, Dog.self, Home.self, City.self)
