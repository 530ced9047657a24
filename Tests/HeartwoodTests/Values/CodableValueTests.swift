import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

private enum Day: Int, Codable { case monday, tuesday, sunday }

/// A value with every kind of unordered content.
private struct Plan: Codable, Equatable, AttributeValue {
  var names: Set<String>
  var days: Set<Day> = [.sunday, .monday, .tuesday]
  var nested: [Set<Int>] = [Set(0..<9), Set(20..<40)]
  var hours: [Day: Set<Int>] = [.monday: Set(8..<17), .tuesday: [1, 2, 3], .sunday: []]
  var byName: [String: [Day: Int]] = ["a": [.monday: 1, .sunday: 7, .tuesday: 2], "b": [:]]
  var byNumber: [Int: Set<String>] = [3: ["x", "y", "z"], 1: ["u", "v"]]
  var one: Set<Int>? = Set(50..<70)
  var none: Set<Int>?
  var date = Date(timeIntervalSinceReferenceDate: 1.5)
  var data: Data? = Data([1, 2, 255])
  var url = URL(string: "https://example.org/a?b=c")
  var amount = Decimal(string: "12.30")
  var limits: [Double] = [-0.0, .infinity, 1e300]
  var flags: [Bool] = [true, false]
  var small: [UInt8: Int16] = [1: -1, 2: -2, 200: 3]

  /// Returns an equal value whose sets and dictionaries were filled in a different order.
  func rebuilt(_ capacity: Int) -> Plan {
    var other = self
    other.names = Set(minimumCapacity: capacity)
    for name in names.sorted(by: >) { other.names.insert(name) }
    other.days = Set(minimumCapacity: capacity)
    for day in days.sorted(by: { $0.rawValue > $1.rawValue }) { other.days.insert(day) }
    other.hours = Dictionary(minimumCapacity: capacity)
    for (day, set) in hours { other.hours[day] = set.union(Set(minimumCapacity: capacity)) }
    return other
  }
}

extension Set {
  fileprivate init(minimumCapacity: Int) {
    self.init()
    reserveCapacity(minimumCapacity)
  }
}

extension Dictionary {
  fileprivate init(minimumCapacity: Int) {
    self.init()
    reserveCapacity(minimumCapacity)
  }
}

/// A date or text, which decoding tells apart by trying to decode a date first.
private enum Moment: Codable, Equatable, AttributeValue {
  case date(Date)
  case text(String)

  init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if let date = try? container.decode(Date.self) {
      self = .date(date)
    } else {
      self = .text(try container.decode(String.self))
    }
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch self {
    case .date(let date): try container.encode(date)
    case .text(let text): try container.encode(text)
    }
  }
}

/// A value that encodes a set in nested containers of all kinds.
private struct Outline: Codable, Equatable, AttributeValue {
  enum Key: CodingKey { case names, nothing, keyed, list, other, `super` }

  var names: Set<String>

  init(names: Set<String>) { self.names = names }

  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: Key.self)
    let keyed = try container.nestedContainer(keyedBy: Key.self, forKey: .keyed)
    var list = try container.nestedUnkeyedContainer(forKey: .list)
    guard try container.decodeNil(forKey: .nothing), try list.decodeNil() else {
      throw CancellationError()
    }
    let inner = try list.nestedContainer(keyedBy: Key.self)
    var innerList = try list.nestedUnkeyedContainer()
    let all = [
      try keyed.decode(Set<String>.self, forKey: .names),
      try inner.decode(Set<String>.self, forKey: .names),
      try innerList.decode(Set<String>.self), try Set(from: list.superDecoder()),
      try Set(from: container.superDecoder(forKey: .other)),
      try Set(from: container.superDecoder()),
    ]
    guard Set(all).count == 1 else { throw CancellationError() }
    names = all[0]
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    try container.encodeNil(forKey: .nothing)
    var keyed = container.nestedContainer(keyedBy: Key.self, forKey: .keyed)
    try keyed.encode(names, forKey: .names)
    var list = container.nestedUnkeyedContainer(forKey: .list)
    try list.encodeNil()
    var inner = list.nestedContainer(keyedBy: Key.self)
    try inner.encode(names, forKey: .names)
    var innerList = list.nestedUnkeyedContainer()
    try innerList.encode(names)
    try names.sorted().encode(to: list.superEncoder())
    try names.sorted().encode(to: container.superEncoder(forKey: .other))
    try names.sorted().encode(to: container.superEncoder())
  }
}

private final class Course: ManagedObject {
  @Attribute var outline = Outline(names: [])
  @Attribute var start = Moment.text("")
  @Attribute var name: String = ""
  @Attribute var plan = Plan(names: [])
}

@Suite("Codable values with sets")
struct CodableValueTests {
  private let plan = Plan(names: Set((0..<40).map { "name \($0)" }))

  @Test(.evidence("V-03")) func `a Codable value with sets is read back equal`() throws {
    let fixture = try GraphFixture(Schema(Course.self))
    let context = fixture.context()
    let course = Course(context: context)
    course.plan = plan
    try context.save()
    let read: Course? = try fixture.context().existingObject(with: course.objectID)
    #expect(read?.plan == plan)
  }

  @Test(
    .evidence("V-03"),
    arguments: [
      Moment.text("2024-05-01T10:00:00Z"), .text("1.5"),
      .date(Date(timeIntervalSinceReferenceDate: 9)),
    ])
  fileprivate func `text that looks like a date stays text`(start: Moment) throws {
    let fixture = try GraphFixture(Schema(Course.self))
    let context = fixture.context()
    let course = Course(context: context)
    course.start = start
    try context.save()
    let read: Course? = try fixture.context().existingObject(with: course.objectID)
    #expect(read?.start == start)
  }

  @Test(.evidence("C-05"), arguments: [1, 100, 1000, 10_000])
  func `setting a Codable value to an equal value is not a change`(capacity: Int) throws {
    let fixture = try GraphFixture(Schema(Course.self))
    let mine = fixture.context()
    mine.mergePolicy = .mergeByPropertyObjectTrump
    let course = Course(context: mine)
    course.plan = plan
    try mine.save()
    let version = try fixture.container.store.snapshot().generation
    course.plan = plan.rebuilt(capacity)
    try mine.save()
    #expect(try fixture.container.store.snapshot().generation == version)

    // Assigning an equal value does not overwrite another context's change.
    let others = fixture.context()
    let theirs: Course = try #require(try others.existingObject(with: course.objectID))
    theirs.plan.names = ["theirs"]
    try others.save()
    course.plan = plan.rebuilt(capacity * 2)
    course.name = "mine"
    try mine.save()
    let stored: Course? = try fixture.context().existingObject(with: course.objectID)
    #expect(stored?.plan.names == ["theirs"] && stored?.name == "mine")
  }

  @Test(.evidence("V-03"), .evidence("C-05"))
  func `sets in nested containers are read back equal and compared without their order`() throws {
    let fixture = try GraphFixture(Schema(Course.self))
    let context = fixture.context()
    let course = Course(context: context)
    course.outline = Outline(names: plan.names)
    try context.save()
    let read: Course? = try fixture.context().existingObject(with: course.objectID)
    #expect(read?.outline == course.outline)
    // A set with another capacity has another order.
    var names = Set<String>(minimumCapacity: 1000)
    names.formUnion(plan.names)
    let generation = try fixture.container.store.snapshot().generation
    course.outline = Outline(names: names)
    try context.save()
    #expect(try fixture.container.store.snapshot().generation == generation)
  }
}
