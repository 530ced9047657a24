import Foundation
import Heartwood

/// Four animals, each identified by the first letter of its name, and their related objects.
final class Zoo {
  let fixture: GraphFixture
  let context: ManagedObjectContext
  let ada: Animal
  let bob: Animal
  let celine: Animal
  let rex: Dog
  let elm: Home
  let oak: Home
  let ur: City

  init() throws {
    fixture = try GraphFixture(animals)
    context = fixture.context()
    ada = Animal(context: context)
    bob = Animal(context: context)
    celine = Animal(context: context)
    rex = Dog(context: context)
    elm = Home(context: context)
    oak = Home(context: context)
    ur = City(context: context)
    for (animal, name) in [(ada, "Ada"), (bob, "Bob"), (celine, "Ce\u{301}line"), (rex, "Rex")] {
      animal.name = name
      animal.alias = name
    }
    (ada.legs, ada.rank, ada.nick, ada.weight) = (4, 1, "Addy", 2.5)
    (bob.legs, bob.rank, bob.nick, bob.weight) = (2, nil, nil, -1.5)
    (celine.legs, celine.rank, celine.nick, celine.weight) = (0, 3, "c*c", 10)
    (rex.legs, rex.rank, rex.nick, rex.weight, rex.tricks) = (4, 2, nil, 20, 5)
    for animal in [ada, bob, celine, rex] { animal.paws = animal.legs }
    (ada.length, ada.isTame, ada.price) = (1.1, true, Decimal(string: "0.1") ?? 0)
    (celine.price, celine.big, celine.mood) = (12, .max, .high)
    rex.born = Date(timeIntervalSinceReferenceDate: 1000)
    celine.place = Place(latitude: 1, longitude: 2)
    (elm.street, elm.rooms, elm.town) = ("Elm", 3, ur)
    (oak.street, oak.rooms) = ("Oak", nil)
    ur.name = "Ur"
    (ada.home, bob.home, celine.home) = (elm, elm, oak)
    ada.idols = [bob, rex]
    try context.save()
  }

  /// Returns the first letters of the animals that match a predicate.
  ///
  /// The predicate is evaluated on records and on objects. If the results differ, the returned
  /// string contains all of them.
  func letters(_ predicate: QueryPredicate<Animal>) throws -> String {
    var request = FetchRequest<Animal>()
    request.predicate = predicate
    let other = fixture.context()
    let byRecords = try letters(other.fetch(request))
    for animal in try other.fetch(FetchRequest<Animal>()) { animal.note = "seen" }
    let child = ManagedObjectContext(parent: other)
    let byObjects = try letters(child.fetch(request))
    let touched = fixture.context()
    let all = try touched.fetch(FetchRequest<Animal>())
    for animal in all { animal.born = animal.born }
    for home in try touched.fetch(FetchRequest<Home>()) { home.street = home.street }
    let byChanged = try letters(touched.fetch(request))
    let count = try other.count(for: request)
    guard byRecords == byObjects, byObjects == byChanged, count == byRecords.count else {
      return "\(byRecords), \(byObjects) and \(byChanged)"
    }
    return byRecords
  }

  func letters(_ format: String, _ arguments: [any Sendable] = []) throws -> String {
    try letters(QueryPredicate(format: format, arguments: arguments))
  }

  func letters(_ predicate: Predicate<Animal>) throws -> String {
    try letters(QueryPredicate(predicate))
  }

  private func letters(_ animals: [Animal]) throws -> String {
    String(animals.compactMap(\.name.unicodeScalars.first).map { Character($0) }.sorted())
  }
}
