import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

@Suite("Key paths that compute a value of the type of a stored property")
struct ComputedKeyPathTests {
  private let fixture: GraphFixture
  private let context: ManagedObjectContext

  init() throws {
    fixture = try GraphFixture(Schema(PressureGauge.self))
    context = fixture.context()
    var last: PressureGauge?
    for (position, name) in ["b", "A", "C", "a", "B"].enumerated() {
      let gauge = PressureGauge(context: context)
      (gauge.name, gauge.weight) = (name, [-3, 2, -1, 4, 0][position])
      (gauge.offset, gauge.level) = ([2, -4, 1, -3, 0][position], position == 1 ? .high : .low)
      gauge.note = position == 2 ? nil : name
      gauge.price = position == 0 ? nil : Decimal(position) / 2 - 1
      gauge.next = last
      last = gauge
    }
    try context.save()
  }

  @Test(.evidence("FO-01"), .evidence("P-07")) func `sorts compare the computed values`() throws {
    let all = try context.fetch(FetchRequest<PressureGauge>())
    func check<Value: Comparable>(
      _ sort: SortDescriptor<PressureGauge>, _ value: (PressureGauge) -> Value
    ) throws {
      let expected = all.enumerated().sorted { first, second in
        let (left, right) = (value(first.element), value(second.element))
        return left == right ? first.offset < second.offset : left < right
      }
      #expect(try context.fetch(FetchRequest(sort: [sort])) == expected.map(\.element))
    }
    try check(SortDescriptor(\.weight.magnitude)) { $0.weight.magnitude }
    try check(SortDescriptor(\.sortName)) { $0.sortName }
    try check(SortDescriptor(\.distance)) { $0.distance }
    try check(SortDescriptor(\.next?.sortName)) { $0.next?.sortName ?? "" }
    try check(SortDescriptor(\.shownNote)) { $0.shownNote ?? "" }
    try check(SortDescriptor(\.cost)) { $0.cost }
    try check(SortDescriptor(\.alias)) { $0.alias }
    // These getters would trap on an object with declared values.
    try check(SortDescriptor(\.initial, comparator: .lexical)) { $0.initial }
    try check(SortDescriptor(\.version)) { $0.version }
  }

  @Test(.evidence("P-07")) func `other uses throw`() throws {
    func check(_ body: () throws -> Void) {
      let error = #expect(throws: ObjectGraphError.self) { try body() }
      #expect(error?.kind == .unknownProperty)
    }
    let request = FetchRequest<PressureGauge>()
    check { _ = try context.fetchValues(request, \.sortName) }
    check { _ = try context.fetchValues(request, \.weight.magnitude) }
    check { _ = try context.aggregate(request, by: \.shownNote, .count) }
    check { _ = try context.aggregate(request, .sum(\PressureGauge.distance)) }
    check {
      _ = try context.fetch(FetchRequest<PressureGauge>(where: #Predicate { $0.sortName == "a" }))
    }
    check {
      try FetchedResultsController(
        fetchRequest: request, context: context, sectionedBy: \.next?.sortName
      ).performFetch()
    }
  }

  @Test(.evidence("P-02")) func `predicates name the properties that a key path reads`() throws {
    let request = FetchRequest<PressureGauge>(where: #Predicate { $0.nextNote == "a" })
    expect(.unsupportedPredicate, "PressureGauge.next, PressureGauge.note") {
      _ = try context.fetch(request)
    }
    let notes = try context.fetchValues(FetchRequest<PressureGauge>(), \.nextNote)
    #expect(notes == [nil, "b", "A", nil, "a"])
  }

  @Test(.evidence("P-07")) func `key paths that yield the stored value are stored properties`()
    throws
  {
    let request = FetchRequest<PressureGauge>()
    let names = try context.fetchValues(request, \.alias)
    #expect(names == ["b", "A", "C", "a", "B"])
    let levels = try context.fetchValues(request, \.level.rawValue)
    #expect(levels == [1, 7, 1, 1, 1])
    let notes = try context.fetchValues(request, \.next?.note)
    #expect(notes == [nil, "b", "A", nil, "a"])
    let prices = try context.fetchValues(request, \.next?.price)
    #expect(prices == [nil, nil, Decimal(-0.5), 0, Decimal(0.5)])
    let colours = try context.fetchValues(request, \.colour?.rawValue)
    #expect(colours == [nil, nil, nil, nil, nil])
    let shares = try context.fetchValues(request, \.share)
    #expect(shares.allSatisfy { $0.rawValue == 50 })
  }
}

private struct GaugeVersion: Comparable {
  var number: Int

  static func < (first: GaugeVersion, second: GaugeVersion) -> Bool {
    first.number < second.number
  }
}

/// A type that rejects all other values with a trap.
private struct Share: RawRepresentable, Codable, AttributeValue {
  let rawValue: Int

  init(rawValue: Int) {
    precondition((50...60).contains(rawValue))
    self.rawValue = rawValue
  }
}

private final class PressureGauge: ManagedObject {
  @Attribute var name: String = ""
  @Attribute var weight: Double = 0
  @Attribute var offset: Int = 0
  @Attribute var note: String? = nil
  @Attribute var price: Decimal? = nil
  @Attribute var level: Severity = .low
  @Attribute var colour: Colour? = nil
  @Attribute var share: Share = Share(rawValue: 50)
  @ToOne var next: PressureGauge?

  var sortName: String { name.lowercased() }
  var distance: Int { -offset }
  /// Traps unless the values are as the program stores them.
  var initial: String { String(name[name.startIndex]) }
  var version: GaugeVersion {
    GaugeVersion(number: Int(name.unicodeScalars[name.startIndex].value))
  }
  var shownNote: String? { note ?? "none" }
  var cost: Decimal { price ?? 0 }
  var alias: String { name }
  var nextNote: String? { next?.note }
}
