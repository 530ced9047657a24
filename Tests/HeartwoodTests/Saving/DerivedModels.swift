import Foundation
import Heartwood

final class Town: ManagedObject {
  @Attribute var name: String = ""
  @Attribute var alias: String? = nil
  @Attribute var inhabitants: Int = 0
  @ToMany(inverse: \House.town) var houses: Set<House>
  @OrderedToMany(inverse: \Stop.town) var stops: [Stop]
  @ToMany(inverse: \Team.towns) var teams: Set<Team>

  @Attribute var searchName: String = ""
  @Attribute var capitals: String = ""
  @Attribute var smallAlias: String? = nil
  @Attribute var houseCount: Int = 0
  @Attribute var stopCount: Int32 = 0
  @Attribute var rooms: Int = 0
  @Attribute var fewestRooms: Int? = nil
  @Attribute var mostRooms: Int? = nil
  @Attribute var meanRooms: Double? = nil
  @Attribute var height: Double = 0
  @Attribute var saved: Date? = nil

  override class var entity: Entity {
    Entity("Town") {
      Unique(\Town.searchName)
      Index(\Town.houseCount)
      Derived(\Town.searchName, .canonical(\Town.name))
      Derived(\Town.capitals, .uppercase(\Town.name))
      Derived(\Town.smallAlias, .lowercase(\Town.alias))
      Derived(\Town.houseCount, .count(\Town.houses))
      Derived(\Town.stopCount, .count(\Town.stops))
      Derived(\Town.rooms, .sum(\Town.houses, \House.rooms))
      Derived(\Town.fewestRooms, .min(\Town.houses, \House.rooms))
      Derived(\Town.mostRooms, .max(\Town.houses, \House.rooms))
      Derived(\Town.meanRooms, .average(\Town.houses, \House.rooms))
      Derived(\Town.height, .sum(\Town.houses, \House.height))
      Derived(\Town.saved, .now)
    }
  }
}

final class House: ManagedObject {
  @Attribute var rooms: Int = 0
  @Attribute var height: Double? = nil
  @ToOne var town: Town?
  @Attribute var townName: String = "nowhere"
  @Attribute var townAlias: String? = nil

  override class var entity: Entity {
    Entity("House") {
      Index(\House.townName)
      Derived(\House.townName, .copy(of: \House.town, \Town.name))
      Derived(\House.townAlias, .copy(of: \House.town, \Town.alias))
    }
  }
}

/// A stop with references to two towns.
///
/// Only the reference `town` has an inverse, which is the ordered list of stops.
final class Stop: ManagedObject {
  @Attribute var number: Int = 0
  @ToOne var town: Town?
  @ToOne var next: Town?
  @Attribute var townName: String? = nil
  @Attribute var nextName: String? = nil

  override class var entity: Entity {
    Entity("Stop") {
      Unique(\Stop.townName, \Stop.number)
      Derived(\Stop.townName, .copy(of: \Stop.town, \Town.name))
      Derived(\Stop.nextName, .copy(of: \Stop.next, \Town.name))
    }
  }
}

final class Team: ManagedObject {
  @Attribute var name: String = ""
  @ToMany var towns: Set<Town>
  @Attribute var townCount: Int8 = 0
  @Attribute var fans: Int = 0

  override class var entity: Entity {
    Entity("Team") {
      Derived(\Team.townCount, .count(\Team.towns))
      Derived(\Team.fans, .sum(\Team.towns, \Town.inhabitants))
    }
  }
}

let towns = Schema(Town.self)
