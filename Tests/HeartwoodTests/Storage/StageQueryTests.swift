import Foundation
import Heartwood
import HeartwoodTestSupport
import Synchronization
import Testing

private enum Old {
  final class Entry: ManagedObject {
    @Attribute var code: String = ""
    @Attribute var text: String = ""
    @Attribute var rank: Int = 0
    @Attribute var isDone: Bool = false
  }
  static let schema = Schema(version: 1, Entry.self)
}

private enum New {
  final class Entry: ManagedObject {
    @Attribute(.unique) var code: String = ""
    @Attribute var text: String = ""
    @Attribute(.indexed) var rank: Int = 0
    @Attribute(.indexed) var isDone: Bool = false
    @Attribute var width: UInt16 = 65535
    @Attribute var size: UInt32 = .max

    override class var entity: Entity { Entity("Entry") { TextIndex(\Entry.text) } }
  }
  static let schema = Schema(version: 2, Entry.self)
}

private enum Wider {
  final class Entry: ManagedObject {
    @Attribute(.unique) var code: String = ""
    @Attribute var text: String = ""
    @Attribute(.indexed) var rank: Int = 0
    @Attribute(.indexed) var isDone: Bool = false
    @Attribute var width: Int32 = 0
    @Attribute var size: UInt64 = 0

    override class var entity: Entity { Entity("Entry") { TextIndex(\Entry.text) } }
  }
  static let schema = Schema(version: 3, Entry.self)
}

@Suite("Queries in a migration stage")
struct StageQueryTests {
  private func filled() throws -> EvolvingStore {
    let store = EvolvingStore()
    try store.open(Old.schema) { context in
      for number in 0..<60 {
        let entry = Old.Entry(context: context)
        (entry.code, entry.rank) = ("c\(number)", number % 10)
        (entry.text, entry.isDone) = ("word\(number % 4) common", number.isMultiple(of: 3))
      }
    }
    return store
  }

  /// Returns the results of queries that use indexes.
  private static func results(_ context: ManagedObjectContext) throws -> [[Int]] {
    func count(_ format: String) throws -> Int {
      try context.count(for: FetchRequest<New.Entry>(where: QueryPredicate(format: format)))
    }
    var found = [
      [try count("rank == 3"), try count("isDone == YES"), try count("rank > 7 OR rank > 5")]
    ]
    for format in ["isDone == YES AND rank < 2", "rank >= 8 AND text CONTAINS 'word1'"] {
      var request = FetchRequest<New.Entry>()
      request.predicate = try QueryPredicate(format: format)
      found.append(try context.fetch(request).compactMap { Int($0.code.dropFirst()) }.sorted())
    }
    for query in [TextQuery.word("word1"), .similar("wort1"), .phrase("word2 common")] {
      let request = FetchRequest<New.Entry>(matching: query)
      found.append(try context.fetch(request).compactMap { Int($0.code.dropFirst()) }.sorted())
    }
    return found
  }

  @Test(.evidence("E-13"), .evidence("P-09"))
  func `have the results that they have after the migration`() throws {
    let store = try filled()
    let inStage = Mutex<[[Int]]>([])
    let stage = MigrationStage.custom(
      from: Old.schema, to: New.schema,
      didMigrate: { context in
        let report = try context.upsert(
          New.Entry.self, matching: \.code,
          from: Data(#"[{"code": "c1", "rank": 8}, {"code": "c99", "text": "word1"}]"#.utf8))
        #expect(report.insertedCount == 1 && report.updatedCount == 1)
        let results = try Self.results(context)
        inStage.withLock { $0 = results }
      })
    try store.open(New.schema, [stage]) { context in
      let found = try Self.results(context)
      #expect(inStage.withLock { $0 } == found)
      #expect(found[0] == [6, 20, 25] && found[1] == [0, 21, 30, 51])
    }
  }

  @Test(.evidence("E-01"), .evidence("E-04"))
  func `unsigned attributes keep their values when their types widen`() throws {
    let store = try filled()
    try store.open(New.schema) { context in
      try context.expect(
        "width == 65535 AND size == 4294967295 AND rank == 0", \New.Entry.rank,
        [Int](repeating: 0, count: 6))
    }
    try store.open(Wider.schema) { context in
      try context.expect(
        "width == 65535 AND size == 4294967295 AND rank == 0", \Wider.Entry.width,
        [Int32](repeating: 65535, count: 6))
    }
  }
}
