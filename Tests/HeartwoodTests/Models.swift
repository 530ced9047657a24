import Foundation
import Heartwood

final class Person: ManagedObject {
  @Attribute var name: String = ""
  @Attribute var age: Int = 0
  @Attribute var nickname: String? = nil
  @ToMany(inverse: \Car.owner, deleteRule: .cascade) var cars: Set<Car>
  @ToMany(inverse: \Club.members) var clubs: Set<Club>

  override class var entity: Entity {
    Entity("Person") {
      Unique(\Person.name)
      Index(\Person.age)
    }
  }
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
  @ToOne(inverse: \Keeper.hall, deleteRule: .nullify) var keeper: Keeper?
}

final class Keeper: ManagedObject {
  @Attribute var id: UUID = UUID()
  @ToOne var hall: Hall?
}

let people = Schema(Person.self, Car.self, Club.self, Hall.self, Keeper.self)
