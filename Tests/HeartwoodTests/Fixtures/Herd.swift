import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

/// Random animals in three contexts: one without changes, one with unsaved changes, and its child.
final class Herd {
  var random: SeededGenerator
  private let fixture: GraphFixture
  let contexts: [(name: String, context: ManagedObjectContext)]
  /// The animals of each context, in the order of `contexts`.
  private(set) var all: [[Animal]] = []

  /// The possible values of `code`.
  static let codes = (0..<5 as Range<UInt8>).map { number in
    UUID(uuid: (number * 60, 0, 0, 0, 0, 0, 0, 0, 9 - number, 0, 0, 0, 0, 0, 0, number))
  }
  static let photos = [[], [0], [1, 2], [1, 2, 0], [255]].map { Data($0) }

  /// The IDs of all stored animals.
  var ids: [ManagedObjectID] { all[0].map(\.objectID) }

  /// Returns the number of random queries to run, which is `count` in quick runs.
  static func questionCount(_ count: Int) -> Int {
    TestScale.pick(quick: count, all: 6 * count, long: 20 * count)
  }

  /// Saves random animals, and then makes unsaved changes in two contexts.
  ///
  /// - Parameter count: The number of animals to save.
  init(seed: UInt64, count: Int = 30) throws {
    random = SeededGenerator(seed: seed)
    fixture = try GraphFixture(animals)
    let first = fixture.context()
    let changed = fixture.context()
    let child = ManagedObjectContext(parent: changed)
    contexts = [("clean", fixture.context()), ("changed", changed), ("child", child)]
    try change(first, new: count)
    try first.save()
    try change(changed, new: 4)
    try change(child, new: 4)
    all = try contexts.map { try $0.context.fetch(FetchRequest<Animal>()) }
  }

  /// Creates animals and homes, and changes and deletes some of the existing ones.
  private func change(_ context: ManagedObjectContext, new: Int) throws {
    for _ in 0..<new / 10 { City(context: context).name = text() }
    let towns = try context.fetch(FetchRequest<City>())
    for _ in 0..<new / 4 { _ = Home(context: context) }
    let homes = try context.fetch(FetchRequest<Home>())
    for home in homes where random.isTrue(in256: 128) {
      home.street = text()
      home.rooms = random.isTrue(in256: 60) ? nil : random.below(5)
      home.town = random.isTrue(in256: 60) ? nil : towns[random.below(towns.count)]
    }
    let before = try context.fetch(FetchRequest<Animal>())
    for animal in before where random.isTrue(in256: 16) { context.delete(animal) }
    for number in 0..<new { _ = number % 3 == 0 ? Dog(context: context) : Animal(context: context) }
    let animals = try context.fetch(FetchRequest<Animal>())
    for animal in animals where !before.contains(animal) || random.isTrue(in256: 60) {
      (animal.name, animal.legs) = (text(), random.below(7) - 3)
      (animal.alias, animal.paws) = (animal.name, animal.legs)
      animal.nick = random.isTrue(in256: 80) ? nil : text()
      animal.rank = random.isTrue(in256: 80) ? nil : random.below(7) - 3
      animal.weight = RandomCondition.numbers[random.below(RandomCondition.numbers.count)]
      animal.isTame = random.isTrue(in256: 128)
      animal.born = Date(timeIntervalSinceReferenceDate: Double(random.below(5)) / 3)
      animal.length = Float(random.below(5)) / 10
      animal.big = .max - UInt64(random.below(4))
      animal.mood = random.isTrue(in256: 128) ? .low : .high
      animal.price = Decimal(random.below(40)) / 20
      animal.code = Self.codes[random.below(Self.codes.count)]
      animal.place = random.isTrue(in256: 128) ? nil : Place(latitude: 1, longitude: 2)
      animal.photo = random.isTrue(in256: 80) ? nil : Self.photos[random.below(Self.photos.count)]
      (animal as? Dog)?.tricks = random.below(4)
      animal.home = random.isTrue(in256: 60) ? nil : homes[random.below(homes.count)]
      animal.idols = Set((0..<random.below(4)).map { _ in animals[random.below(animals.count)] })
    }
  }

  private func text() -> String {
    RandomCondition.strings[random.below(RandomCondition.strings.count)]
  }

  /// Expects a predicate to match the same animals as a closure in each context.
  func check(
    _ predicate: QueryPredicate<Animal>, _ holds: (Animal) -> Bool, _ label: String
  ) throws {
    var request = FetchRequest<Animal>()
    request.predicate = predicate
    for ((name, context), animals) in zip(contexts, all) {
      let found = Set(try context.fetch(request))
      let expected = Set(animals.filter(holds))
      guard found != expected else { continue }
      Issue.record("\(label), \(name): \(found.count) found, \(expected.count) expected")
    }
    let count = try contexts[0].context.count(for: request)
    let ids = try contexts[0].context.fetchObjectIDs(request)
    let expected = all[0].filter(holds)
    #expect(count == expected.count && Set(ids) == Set(expected.map(\.objectID)), "\(label)")
  }
}
