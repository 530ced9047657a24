import Heartwood

/// The content of a graph of people, cars and clubs, as plain collections.
struct GraphReference: Equatable {
  struct PersonRow: Equatable {
    var age = 0
    var nickname: String?
  }

  /// The people, by name.
  var people: [String: PersonRow] = [:]
  /// The name of each car's owner, by the name of the car.
  var cars: [String: String?] = [:]
  /// The names of each club's members, by the name of the club.
  var clubs: [String: Set<String>] = [:]
  /// The numbers of each club's halls in order, by the name of the club.
  var halls: [String: [Int]] = [:]

  mutating func delete(person name: String) {
    people[name] = nil
    cars = cars.filter { $0.value != name }
    for club in clubs.keys { clubs[club]?.remove(name) }
  }
}

extension GraphReference {
  /// Reads the complete content of a context.
  init(_ context: ManagedObjectContext) throws {
    for person in try context.fetch(FetchRequest<Person>()) {
      people[person.name] = PersonRow(age: person.age, nickname: person.nickname)
      for car in person.cars where car.owner !== person {
        throw GraphMismatch("\(car.name) is a car of \(person.name), but has another owner")
      }
      for club in person.clubs where !club.members.contains(person) {
        throw GraphMismatch("\(club.name) does not list its member \(person.name)")
      }
    }
    for car in try context.fetch(FetchRequest<Car>()) {
      cars[car.name] = .some(car.owner?.name)
      if let owner = car.owner, !owner.cars.contains(car) {
        throw GraphMismatch("\(owner.name) does not list the car \(car.name)")
      }
    }
    for club in try context.fetch(FetchRequest<Club>()) {
      clubs[club.name] = Set(club.members.map(\.name))
      halls[club.name] = club.halls.map(\.number)
    }
  }
}

struct GraphMismatch: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}
