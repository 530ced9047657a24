import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

private enum SampleLevel: Int, AttributeValue { case low, high }

private struct SampleSite: Codable, AttributeValue {
  struct Unencodable: Error {}
  var latitude, longitude: Double

  func encode(to encoder: any Encoder) throws {
    if latitude > 90 { throw Unencodable() }
    try [latitude, longitude].encode(to: encoder)
  }

  init(latitude: Double, longitude: Double) {
    (self.latitude, self.longitude) = (latitude, longitude)
  }

  init(from decoder: any Decoder) throws {
    let values = try [Double](from: decoder)
    self.init(latitude: values[0], longitude: values[1])
  }
}

/// A class without relationships and unique constraints, with attributes of all kinds.
private class Sample: ManagedObject {
  @Attribute var count: Int = 0
  @Attribute var small: Int16 = 0
  @Attribute var large: UInt64 = 0
  @Attribute var weight: Double = 0
  @Attribute var share: Float = 0
  @Attribute var isOld: Bool = false
  @Attribute var time: Date = .distantPast
  @Attribute var text: String = ""
  @Attribute var note: String? = nil
  @Attribute var until: Date? = nil
  @Attribute var limit: Int? = nil
  @Attribute var data: Data = Data()
  @Attribute var key: UUID = UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))
  @Attribute var level: SampleLevel = .low
  @Attribute var place: SampleSite = SampleSite(latitude: 0, longitude: 0)
  override class var entity: Entity {
    Entity("Sample") {
      Index(\Sample.time)
      Index(\Sample.text, \Sample.limit)
    }
  }
}

private final class FineSample: Sample {
  @Attribute var digits: Int8 = 0
  override class var entity: Entity { Entity("FineSample") }
}

/// A class that is the target of a relationship, so its new objects can affect other rows.
private final class Shelf: ManagedObject {
  @Attribute var number: Int = 0
}

private final class Book: ManagedObject {
  @ToOne var shelf: Shelf?
}

@Suite("Fast paths")
struct FastPathTests {
  private static let schema = Schema(Sample.self, FineSample.self, Shelf.self, Book.self)
  private static let texts = ["", "a", "e\u{301}", String(repeating: "long ", count: 500)]
  private static let numbers = [0, -0.0, 1.5, -1, .nan, .infinity, .leastNonzeroMagnitude]

  private func fill(_ sample: Sample, _ random: inout SeededGenerator) {
    sample.count = Int(truncatingIfNeeded: random.next())
    sample.small = Int16(truncatingIfNeeded: random.next())
    sample.large = random.next()
    sample.weight = Self.numbers[random.below(Self.numbers.count)]
    sample.share = Float(Self.numbers[random.below(Self.numbers.count)])
    sample.isOld = random.isTrue(in256: 128)
    sample.time = Date(timeIntervalSinceReferenceDate: Double(random.below(1000)) / 7)
    sample.text = Self.texts[random.below(Self.texts.count)]
    sample.note = random.isTrue(in256: 80) ? nil : Self.texts[random.below(Self.texts.count)]
    sample.until = random.isTrue(in256: 80) ? nil : sample.time
    sample.limit = random.isTrue(in256: 80) ? nil : random.below(5)
    sample.data = Data(random.bytes(random.below(40)))
    let byte = UInt8(random.below(256))
    sample.key = UUID(uuid: (byte, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, byte))
    sample.level = random.isTrue(in256: 128) ? .low : .high
    sample.place = SampleSite(latitude: Double(random.below(90)), longitude: 0.1)
    (sample as? FineSample)?.digits = Int8(truncatingIfNeeded: random.next())
  }

  /// Saves new objects in several saves, some of them together with other changes.
  ///
  /// - Returns: The results that are visible to a program.
  private func run(
    seed: UInt64, areOn: Bool
  ) throws -> (entries: [String: [[UInt8]]], seen: [String], count: Int) {
    var random = SeededGenerator(seed: seed)
    let fixture = try GraphFixture(Self.schema)
    let context = fixture.context()
    context.fastPaths.areOn = areOn
    var seen: [String] = []
    var samples: [Sample] = []
    for _ in 0..<12 {
      for _ in 0..<random.below(20) {
        let isFine = random.isTrue(in256: 100)
        samples.append(isFine ? FineSample(context: context) : Sample(context: context))
        fill(samples[samples.count - 1], &random)
      }
      if random.isTrue(in256: 128) {
        let book = Book(context: context)
        book.shelf = Shelf(context: context)
        book.shelf?.number = random.below(10)
      }
      if random.isTrue(in256: 128), let sample = samples.randomElement(using: &random) {
        fill(sample, &random)
      }
      if random.isTrue(in256: 60), let position = samples.indices.randomElement(using: &random) {
        context.delete(samples.remove(at: position))
      }
      try context.save()
      seen += samples.map { "\($0.objectID.name) \($0.hasChanges) \($0.isInserted)" }
      seen.append("\(context.hasChanges) \(context.insertedObjects.count)")
    }
    seen += try fixture.recordedChanges()
    let request = FetchRequest<Sample>(sort: [SortDescriptor(\.time)])
    let found = try fixture.context().fetch(request)
    seen += found.map { "\($0.objectID.name) \($0.time) \($0.share) \($0.isOld) \($0.text)" }
    return (try fixture.storedEntries(), seen, context.fastPaths.insertionCount)
  }

  @Test(.evidence("C-01"), .evidence("H-02"), arguments: TestScale.seeds(quick: 2, all: 20))
  func `rows of new objects are the same with and without fast paths`(seed: UInt64) throws {
    let fast = try run(seed: seed, areOn: true)
    let slow = try run(seed: seed, areOn: false)
    #expect(fast.entries == slow.entries, "seed \(seed)")
    #expect(fast.seen == slow.seen, "seed \(seed)")
    #expect(fast.count > 20 && slow.count == 0, "seed \(seed)")
  }

  @Test(.evidence("V-02"))
  func `new objects that can affect other rows, or may be too large, take no fast path`() throws {
    let fixture = try GraphFixture(Self.schema)
    let context = fixture.context()
    Book(context: context).shelf = Shelf(context: context)
    let sample = Sample(context: context)
    sample.text = String(repeating: "x", count: 1 << 20)
    try context.save()
    #expect(context.fastPaths.insertionCount == 0)
    #expect(try fixture.context().fetch(FetchRequest<Sample>()).map(\.text) == [sample.text])
    // These values cannot be encoded.
    let samples = [Sample(context: context), Sample(context: context)]
    for sample in samples { sample.place.latitude = 91 }
    let error = #expect(throws: ObjectGraphError.self) { try context.save() }
    #expect(error?.kind == .validation && error?.failures.count == 2, "\(error as Any)")
    #expect(try fixture.context().count(for: FetchRequest<Sample>()) == 1)
    for sample in samples { sample.place.latitude = 1 }
    try context.save()
    #expect(context.fastPaths.insertionCount == 2)
  }

  @Test(.evidence("FO-02"), arguments: [false, true])
  func `fetching all objects is the same with and without fast paths`(
    includesSubentities: Bool
  ) throws {
    let fixture = try GraphFixture(Self.schema)
    var random = SeededGenerator(seed: 1)
    let writer = fixture.context()
    for number in 0..<100 {
      fill(number % 3 == 0 ? FineSample(context: writer) : Sample(context: writer), &random)
    }
    try writer.save()
    let context = fixture.context()
    var request = FetchRequest<Sample>()
    request.includesSubentities = includesSubentities
    context.fastPaths.areOn = false
    let slow = try context.fetch(request)
    context.fastPaths.areOn = true
    let fast = try context.fetch(request)
    #expect(slow.count == (includesSubentities ? 100 : 66))
    #expect(slow.elementsEqual(fast) { $0 === $1 })
    #expect(context.fastPaths.fetchCount == 1)
    let fine = try context.fetch(FetchRequest<FineSample>())
    #expect(fine.count == 34 && context.fastPaths.fetchCount == 2)
    // Unsaved changes, conditions, orders and limits need the general path.
    request.fetchLimit = 5
    #expect(try context.fetch(request).elementsEqual(slow.prefix(5)) { $0 === $1 })
    request.fetchLimit = nil
    context.delete(slow[0])
    #expect(try context.fetch(request).elementsEqual(slow.dropFirst()) { $0 === $1 })
    #expect(context.fastPaths.fetchCount == 2)
  }
}
