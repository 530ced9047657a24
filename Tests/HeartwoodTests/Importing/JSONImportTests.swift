import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

private enum Scale: String, AttributeValue { case richter, moment }

private struct Spot: Codable, Hashable, AttributeValue { var x: Double }

private struct TooStrong: Error {}

private final class Network: ManagedObject {
  @Attribute(.unique) var code: String = ""
  @Attribute var title: String? = nil
  @ToMany(inverse: \Tremor.network) var tremors: Set<Tremor>
}

private final class Tag: ManagedObject {
  @Attribute(.unique) var name: String = ""
  @ToMany var tremors: Set<Tremor>
}

private final class Tremor: ManagedObject {
  @Attribute(.unique) var code: String = ""
  @Attribute(.unique) var serial: Int? = nil
  @Attribute var magnitude: Double? = nil
  @Attribute var count: Int16 = 0
  @Attribute var time: Date = .distantPast
  @Attribute var scale: Scale? = nil
  @Attribute var spot: Spot? = nil
  @Attribute var words: [String] = []
  @ToOne var network: Network?
  @OrderedToMany(inverse: \Tag.tremors) var tags: [Tag]

  override func validate() throws {
    if magnitude == 99 { throw TooStrong() }
  }
}

@Suite("Imports of JSON")
struct JSONImportTests {
  private let container: PersistentContainer
  private let context: ManagedObjectContext

  init() throws {
    container = try PersistentContainer.inMemory(
      schema: Schema(Tremor.self, Network.self, Tag.self))
    context = container.newContext()
  }

  private func upsert(
    _ text: String, _ change: (inout ImportOptions) -> Void = { _ in }
  ) throws -> ImportReport {
    try context.upsert(Tremor.self, matching: \.code, from: text, change)
  }

  private func tremor(_ code: String) throws -> Tremor? {
    context.refreshAllObjects()
    return try context.existingObject(where: \Tremor.code, equals: code)
  }

  private func counts(_ report: ImportReport) -> [Int] {
    [report.insertedCount, report.updatedCount, report.unchangedCount, report.refusedCount]
  }

  private var generation: Generation { container.store.statistics.newestGeneration }

  @Test(.evidence("IE-02")) func `insert, update and skip objects`() throws {
    let text = """
      {"type": "FeatureCollection", "features": [
        {"id": "a", "properties": {"mag": 4.5, "time": 1000, "words": ["x", "y"]}},
        {"id": "b", "properties": {"mag": null, "time": 2000}, "scale": "moment",
         "spot": {"x": 1.5}, "count": 7}]}
      """
    func options(_ options: inout ImportOptions) {
      options.elements = "features"
      options.dateDecodingStrategy = .millisecondsSince1970
      options.keys = [
        "code": "id", "magnitude": "properties.mag", "time": "properties.time",
        "words": "properties.words",
      ]
    }
    #expect(counts(try upsert(text, options)) == [2, 0, 0, 0])
    let first = try #require(try tremor("a"))
    #expect(first.magnitude == 4.5 && first.words == ["x", "y"] && first.count == 0)
    #expect(first.time == Date(timeIntervalSince1970: 1))
    let second = try #require(try tremor("b"))
    #expect(second.scale == .moment && second.spot == Spot(x: 1.5) && second.count == 7)
    let before = generation
    #expect(counts(try upsert(text, options)) == [0, 0, 2, 0])
    #expect(generation == before)
    let changed = text.replacing("4.5", with: "4.6")
    #expect(counts(try upsert(changed, options)) == [0, 1, 1, 0])
    #expect(try tremor("a")?.magnitude == 4.6)
    #expect(try context.fetch(FetchRequest<Tremor>()).count == 2)
    #expect(try container.store.verify().findings == [])
  }

  @Test func `set relationships by unique attributes`() throws {
    let text = """
      {"code": "a", "network": {"code": "us", "title": "USGS"}, "tags": ["new", {"name": "big"}]}
      {"code": "b", "network": "us", "tags": ["big", "new", "big"]}
      {"code": "c", "network": "ak"}
      {"code": "a", "tags": []}
      """
    #expect(counts(try upsert(text)) == [3, 1, 0, 0])
    let second = try #require(try tremor("b"))
    #expect(second.network?.title == "USGS" && second.network?.tremors.count == 2)
    #expect(second.tags.map(\.name) == ["big", "new"])
    #expect(try tremor("a")?.tags == [] && tremor("c")?.network?.code == "ak")
    #expect(counts(try upsert(text.replacing("{\"code\": \"a\", \"tags\": []}", with: "")))[0] == 0)
    #expect(counts(try upsert(#"{"code": "b", "network": null}"#)) == [0, 1, 0, 0])
    #expect(try tremor("b")?.network == nil)
    #expect(try context.fetch(FetchRequest<Network>()).count == 2)
  }

  @Test(
    .evidence("IE-01"), .evidence("IE-03"),
    arguments: [
      (#"{"code": "a", "magnitude": "4"}"#, "[1].magnitude"),
      (#"{"code": "a", "count": 70000}"#, "[1].count"),
      (#"{"code": "a", "scale": "mercalli"}"#, "[1].scale"),
      (#"{"code": null}"#, "[1].code"), (#"{"magnitude": 1}"#, "[1].code"),
      (#"{"code": "a", "tags": ["x", {"nam": "y"}]}"#, "[1].tags[1].name"),
      (#"{"code": "a", "network": [1]}"#, "[1].network"), (#"[1]"#, "[1]"), ("1", "[1]"),
      (#"{"code": "a", "magnitude": 99}"#, "[1]"),
    ])
  func `name the rejected value, and save nothing`(element: String, path: String) throws {
    let text = #"[{"code": "z", "network": "us"}, \#(element), {"code": "y"}]"#
    let before = generation
    let error = #expect(throws: (any Error).self) { try upsert(text) }
    if !path.isEmpty {
      #expect((error as? ObjectGraphError)?.kind == .invalidElement)
      #expect(
        (error as? ObjectGraphError)?.message.hasPrefix(path + " ") == true, "\(error as Any)")
    }
    #expect(generation == before)
    #expect(try context.fetch(FetchRequest<Network>()).isEmpty)

    let report = try upsert(text) { $0.invalidElements = .skip }
    #expect(counts(report) == [2, 0, 0, 1])
    try #require(report.refusals.count == 1)
    #expect(report.refusals[0].path == path)
    #expect(try tremor("a") == nil && tremor("y") != nil)
    #expect(try tremor("z")?.network?.code == "us")
    #expect(try container.store.verify().findings == [])
  }

  @Test func `reject objects that are nested too deeply`() throws {
    let depth = 400
    let text =
      (0..<depth).map {
        "{\"code\": \"n\($0)\", \"tremors\": [{\"code\": \"t\($0)\", \"network\": "
      }
      .joined() + "null" + String(repeating: "}]}", count: depth)
    let error = #expect(throws: ObjectGraphError.self) {
      try context.upsert(Network.self, matching: \.code, from: Data(text.utf8))
    }
    #expect(error?.kind == .invalidElement)
    #expect(try context.fetch(FetchRequest<Network>()).isEmpty)
  }

  @Test(.evidence("IE-03")) func `skip only the elements that violate another constraint`() throws {
    let text = """
      [{"code": "a", "serial": 1}, {"code": "b", "serial": 1}, {"code": "c", "serial": 2}]
      """
    #expect(throws: ObjectGraphError.self) { try upsert(text) }
    #expect(try tremor("a") == nil)
    let report = try upsert(text) { $0.invalidElements = .skip }
    #expect(counts(report) == [2, 0, 0, 1] && report.refusals[0].path == "[1]")
    #expect(try tremor("c")?.serial == 2 && tremor("b") == nil)
  }

  @Test(
    .evidence("IE-03"), .evidence("C-04"),
    arguments: [
      nil, #"{"code": "e", "magnitude": 99}"#, #"{"code": "e", "count": true}"#,
      #"{"code": "e", "serial": 4}"#, #"{"code": "a", "magnitude": 99, "serial": 9}"#,
    ])
  func `exchange unique values whatever elements are refused`(other: String?) throws {
    _ = try upsert(#"{"code": "a", "serial": 1} {"code": "b", "serial": 2}"#)
    _ = try upsert(#"{"code": "d", "serial": 4}"#)
    let elements = [#"{"code": "a", "serial": 2}"#, other, #"{"code": "b", "serial": 1}"#]
    let text = elements.compactMap(\.self).joined(separator: "\n")
    let report = try upsert(text) { $0.invalidElements = .skip }
    #expect(counts(report) == [0, 2, 0, other == nil ? 0 : 1])
    #expect(try [tremor("a")?.serial, tremor("b")?.serial, tremor("d")?.serial] == [2, 1, 4])
    #expect(try tremor("e") == nil && tremor("a")?.magnitude == nil)
  }

  @Test(.evidence("IE-03")) func `take over no unique value from a refused element`() throws {
    func element(_ code: Int, _ serial: Int) -> String {
      "{\"code\": \"\(code)\", \"serial\": \(serial)}\n"
    }
    _ = try upsert((1...4).map { element($0, $0) }.joined())
    let text = (1...3).map { element($0, $0 + 1) }.joined()
    let report = try upsert(text) { $0.invalidElements = .skip }
    #expect(report.refusals.map(\.path) == ["[0]", "[1]", "[2]"])
    #expect(try (1...4).map { try tremor("\($0)")?.serial } == [1, 2, 3, 4])
  }

  @Test(
    .evidence("IE-02"), .evidence("C-11"), arguments: [MergePolicy.Each.objectTrump, .custom],
    [false, true])
  func `set default values in an object that is matched by another unique value`(
    policy: MergePolicy.Each, isTogether: Bool
  ) throws {
    context.mergePolicy = policy.policy
    let elements = [
      """
      {"code": "a", "serial": 7, "magnitude": 5, "count": 3, "scale": "moment", "words": ["x"],
       "spot": {"x": 1.5}, "network": "us"}
      """,
      """
      {"code": "b", "serial": 7, "magnitude": null, "count": 0, "scale": null, "words": [],
       "network": null}
      """,
    ]
    for text in isTogether ? [elements.joined(separator: "\n")] : elements { _ = try upsert(text) }
    #expect(try tremor("a") == nil && context.fetch(FetchRequest<Tremor>()).count == 1)
    let found = try #require(try tremor("b"))
    #expect(found.serial == 7 && found.magnitude == nil && found.count == 0)
    #expect(found.scale == nil && found.words == [] && found.network == nil)
    // The second element does not contain this attribute.
    #expect(found.spot == Spot(x: 1.5))
    #expect(try context.fetch(FetchRequest<Network>()).map(\.tremors.count) == [0])
    #expect(try container.store.verify().findings == [])
  }

  @Test func `keep unsaved changes of the context, and appear in its history`() throws {
    _ = try upsert(#"{"code": "a", "count": 1}"#)
    let first = try #require(try tremor("a"))
    first.count = 5
    context.transactionAuthor = "feed"
    let token = try container.currentHistoryToken
    _ = try upsert(#"{"code": "a", "magnitude": 3} {"code": "b"}"#)
    #expect(first.count == 5 && context.updatedObjects == [first])
    let history = try container.fetchHistory(after: token)
    #expect(history.map(\.author) == ["feed"])
    context.mergePolicy = .mergeByPropertyObjectTrump
    try context.save()
    #expect(try tremor("a")?.magnitude == 3 && tremor("a")?.count == 5)
  }

  @Test(.evidence("IE-02"), arguments: TestScale.seeds(quick: 2, all: 20, long: 60))
  func `have the same effect as updates of a dictionary`(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    var expected: [String: (magnitude: Double?, network: String?)] = [:]
    for _ in 0..<4 {
      var elements: [String] = []
      var counts = [0, 0, 0, 0]
      for _ in 0..<generator.below(TestScale.pick(quick: 400, all: 2500)) {
        let code = "t\(generator.below(800))"
        let magnitude = generator.isTrue(in256: 128) ? Double(generator.below(3)) : nil
        let network = generator.isTrue(in256: 128) ? "n\(generator.below(4))" : nil
        let isInvalid = generator.isTrue(in256: 3)
        let parts = [
          "\"code\": \"\(code)\"", magnitude.map { "\"magnitude\": \($0)" },
          network.map { "\"network\": \"\($0)\"" }, isInvalid ? "\"count\": true" : nil,
        ]
        elements.append("{\(parts.compactMap { $0 }.joined(separator: ", "))}")
        guard !isInvalid else {
          counts[3] += 1
          continue
        }
        let before = expected[code]
        let new = (magnitude ?? before?.magnitude, network ?? before?.network)
        counts[before == nil ? 0 : before! == new ? 2 : 1] += 1
        expected[code] = new
      }
      let report = try upsert(elements.joined(separator: "\n")) { $0.invalidElements = .skip }
      #expect(self.counts(report) == counts, "seed \(seed)")
    }
    context.refreshAllObjects()
    let all = try context.fetch(FetchRequest<Tremor>())
    #expect(all.count == expected.count)
    #expect(
      all.allSatisfy { expected[$0.code]! == ($0.magnitude, $0.network?.code) }, "seed \(seed)")
    #expect(try container.store.verify().findings == [])
  }

  // MARK: Asynchronous sources

  /// Sends a text in pieces, and then throws the given error, if any.
  private func stream(
    _ text: String, _ random: inout SeededGenerator, _ error: (any Error)? = nil
  ) -> AsyncThrowingStream<Data, any Error> {
    var pieces: [Data] = []
    var rest = Data(text.utf8)
    while !rest.isEmpty {
      let count = random.below(40)
      pieces.append(Data(rest.prefix(count)))
      rest = Data(rest.dropFirst(count))
    }
    return AsyncThrowingStream { [pieces] stream in
      for piece in pieces { stream.yield(piece) }
      stream.finish(throwing: error)
    }
  }

  private var temporaryFiles: [String] {
    get throws {
      let directory = FileManager.default.temporaryDirectory.path
      return try FileManager.default.contentsOfDirectory(atPath: directory)
        .filter { $0.hasPrefix("heartwood-import-") }
    }
  }

  @Test(.evidence("IE-02"), .evidence("IE-01"))
  func `accept elements that arrive in pieces`() async throws {
    // A killed process may have left files behind.
    let filesBefore = Set(try temporaryFiles)
    var random = SeededGenerator(seed: 1)
    let text = (0..<300).map { "{\"code\": \"c\($0)\", \"words\": [\"\u{e9}\"]}" }
      .joined(separator: "\n")
    let report = try await context.upsert(
      Tremor.self, matching: \.code, from: stream(text, &random))
    #expect(counts(report) == [300, 0, 0, 0])
    let bytes = AsyncStream { stream in
      for byte in text.utf8 { stream.yield(byte) }
      stream.finish()
    }
    let second = try await context.upsert(Tremor.self, matching: \.code, from: bytes)
    #expect(counts(second) == [0, 0, 300, 0])
    #expect(try tremor("c299")?.words == ["\u{e9}"])
    let before = generation
    await #expect(throws: TooStrong.self) {
      try await context.upsert(
        Tremor.self, matching: \.code,
        from: stream(text.replacing("c1", with: "d1"), &random, TooStrong()))
    }
    #expect(generation == before)
    let files = Set(try temporaryFiles).subtracting(filesBefore)
    #expect(files == [])
  }

  @Test(.evidence("IE-01")) func `a cancelled download is not imported`() async throws {
    let (stream, sender) = AsyncStream<Data>.makeStream()
    let background = container.newBackgroundContext()
    let task = Task {
      try await background.perform { context in
        try await context.upsert(Tremor.self, matching: \.code, from: stream)
      }
    }
    sender.yield(Data(#"{"code": "a"}"#.utf8))
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(try tremor("a") == nil)
  }

  /// Imports valid and invalid elements of a few objects together.
  ///
  /// A later element of a batch could correct an earlier element of the same object.
  @Test(.evidence("IE-03"), arguments: TestScale.seeds(quick: 6, all: 100))
  func `an element is rejected independently of other elements`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    var (expected, refused): ([String: Double], [String]) = ([:], [])
    let elements = (0..<12).map { position in
      let code = "c\(random.below(3))"
      let magnitude = random.isTrue(in256: 80) ? 99 : Double(position)
      if magnitude == 99 { refused.append("[\(position)]") } else { expected[code] = magnitude }
      return "{\"code\": \"\(code)\", \"magnitude\": \(magnitude)}"
    }
    let report = try upsert(elements.joined(separator: "\n")) { $0.invalidElements = .skip }
    #expect(report.refusals.map(\.path) == refused, "seed \(seed)")
    let stored = try context.fetch(FetchRequest<Tremor>()).map { ($0.code, $0.magnitude) }
    #expect(Dictionary(uniqueKeysWithValues: stored) == expected.mapValues { $0 as Double? })
    guard let first = refused.first else { return }
    let error = #expect(throws: ObjectGraphError.self) {
      try upsert(elements.joined(separator: "\n") + "\n{\"code\": 1}")
    }
    #expect(error?.message.hasPrefix("\(first) cannot be imported") == true)
  }

  @Test func `errors describe what is wrong with a value`() throws {
    for (text, reason) in [
      (#"{"code": "a", "count": 40000}"#, "40000 is not a valid value of Int16."),
      (#"{"code": "a", "scale": "other"}"#, "other is not a valid value of"),
      (#"{"code": 1}"#, "Expected to decode String"),
    ] {
      let error = #expect(throws: ObjectGraphError.self) { try upsert(text) }
      #expect(error?.message.contains(reason) == true, "\(error as Any)")
    }
  }
}
