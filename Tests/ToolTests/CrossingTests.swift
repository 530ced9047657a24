import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

private struct Spot: CompositeValue {
  var x = 0
  var y = 0
}

private struct Visit: Codable, Equatable, AttributeValue {
  var guest = ""
  var date = Date(timeIntervalSinceReferenceDate: 0.25)
}

/// A value that is encoded as a single string.
private struct Ticket: Codable, AttributeValue {
  var text: String

  init(_ text: String) { self.text = text }
  init(from decoder: any Decoder) throws {
    text = try decoder.singleValueContainer().decode(String.self)
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(text)
  }
}

/// A class whose properties have other names in the store.
private final class Gallery: ManagedObject {
  @Attribute(.unique, name: "label") var code: String = ""
  @Attribute("made") var place: String = ""
  @Attribute("sums") var amounts: [Decimal] = []
  @Attribute var visit: Visit? = nil
  @Attribute var dates: [Date] = []
  @Attribute var ticket: Ticket? = nil
  @Composite("spot") var position = Spot()
  @ToOne var next: Gallery?
}

@Suite("Data that crosses between programs and heartwoodctl")
struct CrossingTests {
  private let directory: ScratchDirectory

  private var source: String { directory.path(of: "source") }
  private var copy: String { directory.path(of: "copy") }
  private var file: String { directory.path(of: "file") }

  init() throws {
    directory = try ScratchDirectory()
    try open(copy).store.close()
    try change { context in
      let (first, second) = (Gallery(context: context), Gallery(context: context))
      (first.code, second.code) = ("a", "b")
      (first.place, second.place) = ("here", "there")
      let amount = try #require(Decimal(string: "12345678901234567890.123"))
      (first.amounts, second.amounts) = ([amount, 0.5], [])
      (first.position, second.position) = (Spot(x: 1, y: 2), Spot(x: 3, y: 4))
      first.visit = Visit(guest: "Ada", date: Date(timeIntervalSinceReferenceDate: 86_400.125))
      first.dates = [.distantPast, Date(timeIntervalSinceReferenceDate: 1e12)]
      // These texts would be a number and a Boolean value without quotation marks.
      (first.ticket, second.ticket) = (Ticket("123"), Ticket("true"))
      first.next = second
    }
  }

  private func open(_ path: String) throws -> PersistentContainer {
    try PersistentContainer(url: URL(filePath: path), schema: Schema(Gallery.self))
  }

  private func change(_ body: (ManagedObjectContext) throws -> Void) throws {
    let container = try open(source)
    let context = container.newContext()
    try body(context)
    try context.save()
    try container.store.close()
  }

  private static func seconds(_ date: Date) -> Double { date.timeIntervalSinceReferenceDate }

  private func galleries(_ context: ManagedObjectContext) throws -> [Gallery] {
    try context.fetch(FetchRequest<Gallery>(sort: [SortDescriptor(\.code)]))
  }

  /// Returns the objects of a store as text.
  private func objects(_ path: String) throws -> [String] {
    let container = try open(path)
    let context = container.newContext()
    let lines = try galleries(context).map { gallery in
      "\(gallery.code) \(gallery.place) \(gallery.amounts) \(gallery.position.x) "
        + "\(gallery.position.y) \(gallery.next?.code ?? "-") \(gallery.visit?.guest ?? "-") "
        + "\(gallery.ticket?.text ?? "-") "
        + "\(([gallery.visit?.date].compactMap(\.self) + gallery.dates).map(Self.seconds))"
    }
    try container.store.close()
    return lines
  }

  /// Returns the events about the existing objects, or those of all transactions.
  private func events(existing: Bool, byTool: Bool) async throws -> [Data] {
    guard !byTool else {
      let start = existing ? ["--snapshot"] : ["--after", "0"]
      let run = try ToolRun(["follow", source, "--once"] + start)
      run.expectFine()
      return run.lines.filter { !$0.isEmpty }.map { Data($0.utf8) }
    }
    let container = try open(source)
    let newest = try container.newestTransactionNumber()
    var events: [Data] = []
    let feed = try container.changeFeed(from: existing ? .existingObjects : .oldestTransaction)
    for try await event in feed {
      events.append(try event.json())
      if event.isLast, event.transaction == newest { break }
    }
    try container.store.close()
    return events
  }

  private func apply(_ events: [Data], byTool: Bool) throws {
    if byTool {
      try Data(events.joined(separator: Data("\n".utf8))).write(to: URL(filePath: file))
      try ToolRun("apply", copy, file).expectFine()
    } else {
      let container = try open(copy)
      try container.apply(events: events)
      try container.store.close()
    }
  }

  @Test(
    .mustEnd, .evidence("CF-08"), .evidence("M-08"), arguments: [false, true], [false, true])
  func `a copy has the same values as its source`(isReadByTool: Bool, isAppliedByTool: Bool)
    async throws
  {
    try apply(
      try await events(existing: true, byTool: isReadByTool), byTool: isAppliedByTool)
    #expect(try objects(copy) == objects(source))
    try change { context in
      let all = try galleries(context)
      (all[0].code, all[0].place, all[0].position.y) = ("c", "new", 9)
      (all[0].next, all[1].next) = (nil, all[1])
      all[1].visit = Visit()
    }
    try apply(
      try await events(existing: false, byTool: isReadByTool), byTool: isAppliedByTool)
    #expect(try objects(copy) == objects(source))
  }

  @Test(.evidence("IE-02"), .evidence("IE-04"), arguments: ["jsonl", "csv"])
  func `the tool imports what a program exports`(format: String) throws {
    let container = try open(source)
    try container.newContext().export(
      FetchRequest<Gallery>(), as: format == "csv" ? .csv : .jsonLines, to: URL(filePath: file))
    try container.store.close()
    let run = try ToolRun("import", copy, "Gallery", file, "--format", format)
    run.expectFine()
    #expect(!run.output.contains("ignored"))
    #expect(try objects(copy) == objects(source))
  }

  @Test(.evidence("IE-02"), .evidence("IE-04")) func `a program imports what the tool exports`()
    throws
  {
    try ToolRun("export", source, "Gallery", "--format", "jsonl", "--output", file).expectFine()
    let container = try open(copy)
    var options = ImportOptions()
    // The tool exports dates within `Codable` values as they are stored.
    options.dateDecodingStrategy = .deferredToDate
    try container.newContext().upsert(
      Gallery.self, matching: \.code, contentsOf: URL(filePath: file), options)
    try container.store.close()
    #expect(try objects(copy) == objects(source))
  }
}
