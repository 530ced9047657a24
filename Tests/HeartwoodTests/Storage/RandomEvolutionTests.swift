import Heartwood
import HeartwoodTestSupport
import Testing

/// An entity that only some of the versions declare.
private final class Bystander: ManagedObject {
  @Attribute(.unique) var number: Int = 0
}

/// A store that is opened with one version after another, and the expected content.
private struct EvolutionRun {
  /// The expected values of an object.
  struct Row: Equatable {
    var values: [String: ThingValue] = [:]
    var targets: [Int] = []
  }

  let store = EvolvingStore()
  var random: SeededGenerator
  var rows: [Int: Row] = [:]
  var link = ThingLink.nothing
  var version = 0
  var lastNumber = 0
  var bystanderCount = 0

  init(seed: UInt64) { random = SeededGenerator(seed: seed) }

  /// Opens the store with a version and changes objects, or expects the version to be rejected.
  mutating func step<M: Thing>(_ type: M.Type) throws {
    version += 1
    let hasBystanders = random.isTrue(in256: 128)
    let schema = Schema(version: version, types: [type] + (hasBystanders ? [Bystander.self] : []))
    if M.link == .one, link == .many || link == .list {
      let refusal = try store.refusal(schema)
      #expect(refusal.message.contains("Thing.link is a to-one relationship in the program"))
      return
    }
    follow(type)
    var copy = self
    try store.open(schema) { context in
      try copy.expect(type, context, sorts: true)
      for _ in 0..<copy.random.below(30) { try copy.change(type, context) }
      guard hasBystanders else { return }
      let numbers = try context.all(Bystander.self).map(\.number).sorted()
      #expect(numbers == Array(0..<copy.bystanderCount))
      Bystander(context: context).number = copy.bystanderCount
      copy.bystanderCount += 1
    }
    try store.open(schema) { try copy.expect(type, $0, sorts: false) }
    self = copy
  }

  /// Migrates the expected content in the same way as the store.
  private mutating func follow<M: Thing>(_ type: M.Type) {
    for number in rows.keys {
      var values: [String: ThingValue] = [:]
      for column in M.columns {
        let value = rows[number]?.values[column.name] ?? column.initial
        values[column.name] = value == .none && !column.isOptional ? column.initial : value
      }
      rows[number]?.values = values
      if M.link == .nothing || link == .nothing { rows[number]?.targets = [] }
    }
    link = M.link
  }

  /// Compares all objects and queries with the expected content.
  ///
  /// - Parameter sorts: `true` to ignore the order of lists, and adopt the order that is found.
  private mutating func expect<M: Thing>(
    _ type: M.Type, _ context: ManagedObjectContext, sorts: Bool
  ) throws {
    let things = try context.fetch(FetchRequest<M>())
    #expect(Set(things.map(\.number)) == Set(rows.keys))
    for thing in things {
      guard let row = rows[thing.number] else { continue }
      for column in M.columns { #expect(column.get(thing) == row.values[column.name]) }
      let targets = thing.targets.map(\.number)
      #expect(targets.sorted() == row.targets.sorted())
      if M.link == .list, !sorts { #expect(targets == row.targets) }
      rows[thing.number]?.targets = targets
      let sources = rows.filter { $0.value.targets.contains(thing.number) }.keys
      if M.link != .nothing, !sorts, let known = thing.sources {
        #expect(Set(known.map(\.number)) == Set(sources) && known.count == sources.count)
      }
    }
    for column in M.columns {
      for value in Set(rows.values.map { $0.values[column.name] ?? .none }) {
        try expect(type, column, value, context)
      }
    }
  }

  /// Expects a query for a value of an attribute to find the objects that have the value.
  private func expect<M: Thing>(
    _ type: M.Type, _ column: ThingColumn<M>, _ value: ThingValue, _ context: ManagedObjectContext
  ) throws {
    let condition =
      switch value {
      case .none: "\(column.name) == nil"
      case .number(let number): "\(column.name) == \(number)"
      case .text(let text): "\(column.name) == '\(text)'"
      }
    var request = FetchRequest<M>()
    request.predicate = try QueryPredicate(format: condition)
    let expected = rows.filter { $0.value.values[column.name] == value }.keys.sorted()
    let found = try context.fetch(request).map(\.number).sorted()
    #expect(found == expected, "\(type): \(condition)")
  }

  // MARK: Changes

  private mutating func change<M: Thing>(_ type: M.Type, _ context: ManagedObjectContext) throws {
    let things = try context.fetch(FetchRequest<M>()).sorted { $0.number < $1.number }
    guard !things.isEmpty, random.isTrue(in256: 170) else { return try add(type, context) }
    let thing = things[random.below(things.count)]
    switch random.below(4) {
    case 0:
      // References without an inverse are not cleared when their target is deleted, so clear such
      // references first.
      for other in things where other.targets.contains(where: { $0 === thing }) {
        other.targets = other.targets.filter { $0 !== thing }
      }
      for number in rows.keys { rows[number]?.targets.removeAll { $0 == thing.number } }
      rows[thing.number] = nil
      context.delete(thing)
    case 1: set(thing)
    default:
      guard M.link != .nothing else { return }
      var targets: [M] = []
      for _ in 0..<(M.link == .one ? 1 : random.below(4)) {
        let other = things[random.below(things.count)]
        if !targets.contains(where: { $0 === other }) { targets.append(other) }
      }
      thing.targets = targets
      rows[thing.number]?.targets = targets.map(\.number)
    }
  }

  private mutating func add<M: Thing>(_ type: M.Type, _ context: ManagedObjectContext) throws {
    let thing = type.init()
    context.insert(thing)
    lastNumber += 1
    thing.number = lastNumber
    var row = Row()
    for column in M.columns { row.values[column.name] = column.initial }
    rows[lastNumber] = row
    if random.isTrue(in256: 200) { set(thing) }
  }

  private mutating func set<M: Thing>(_ thing: M) {
    for column in M.columns where random.isTrue(in256: 160) {
      var value = ThingValue.none
      if !column.isOptional || random.isTrue(in256: 180) {
        let choice = random.below(6)
        value = column.isText ? .text("t\(choice)") : .number(choice)
      }
      column.set(thing, value)
      rows[thing.number]?.values[column.name] = value
    }
  }
}

@Suite("Random migrations")
struct RandomEvolutionTests {
  @Test(
    .evidence("E-01"), .evidence("E-02"), .evidence("E-06"), .evidence("E-17"),
    arguments: TestScale.seeds(quick: 3, all: 12))
  func `a store equals a plain model after each random migration`(seed: UInt64) throws {
    var run = EvolutionRun(seed: seed)
    for _ in 0..<12 {
      let type = Things.all[run.random.below(Things.all.count)]
      try run.step(type)
    }
  }
}
