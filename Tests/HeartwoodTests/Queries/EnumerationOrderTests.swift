import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

/// An enumeration whose order differs from that of its raw values.
private enum Urgency: String, CaseIterable, Codable, Comparable, AttributeValue {
  case low, medium, high

  private var position: Int? { Self.allCases.firstIndex(of: self) }

  static func < (first: Urgency, second: Urgency) -> Bool {
    (first.position ?? 0) < (second.position ?? 0)
  }
}

/// An enumeration with the order of its raw values.
private enum Level: Int, CaseIterable, Codable, Comparable, AttributeValue {
  case first = -3
  case second = 0
  case third = 7

  static func < (first: Level, second: Level) -> Bool { first.rawValue < second.rawValue }
}

private final class Job: ManagedObject {
  @Attribute var level: Level = .first
  @Attribute var urgency: Urgency = .low
  @Attribute var spare: Urgency? = nil
}

@Suite("Predicates on the order of enumerations")
struct EnumerationOrderTests {
  private let fixture: GraphFixture
  private let context: ManagedObjectContext

  init() throws {
    fixture = try GraphFixture(Schema(Job.self))
    context = fixture.context()
    for urgency in Urgency.allCases {
      let job = Job(context: context)
      (job.urgency, job.spare) = (urgency, urgency)
      job.level = urgency == .low ? .first : urgency == .medium ? .second : .third
    }
    try context.save()
  }

  private func found(_ predicate: QueryPredicate<Job>) throws -> [Urgency] {
    var request = FetchRequest<Job>()
    request.predicate = predicate
    return try context.fetch(request).map(\.urgency)
  }

  @Test(.evidence("P-01"), .evidence("P-02"))
  func `a Foundation predicate cannot order values of an enumeration`() throws {
    let (limit, range, rest) = (Urgency.medium, Urgency.low...Urgency.medium, Urgency.medium...)
    let predicates: [Predicate<Job>] = [
      #Predicate { $0.urgency >= limit }, #Predicate { $0.urgency < limit },
      #Predicate { limit > $0.urgency }, #Predicate { $0.spare! <= limit },
      #Predicate { ($0.spare ?? limit) > limit }, #Predicate { range.contains($0.urgency) },
      #Predicate { rest.contains($0.urgency) },
      #Predicate { ($0.urgency...limit).contains(limit) },
      #Predicate { if let spare = $0.spare { spare > limit } else { false } },
    ]
    for (position, predicate) in predicates.enumerated() {
      let error = try #require(throws: ObjectGraphError.self) {
        try found(QueryPredicate(predicate))
      }
      #expect(error.kind == .unsupportedPredicate, "case \(position)")
      #expect(error.message.contains("Urgency"), "case \(position): \(error)")
    }
  }

  @Test(.evidence("P-01"))
  func `a predicate orders values that have the order of their raw values`() throws {
    let (limit, range) = (Level.second, Level.first...Level.second)
    #expect(try found(QueryPredicate(#Predicate { $0.level >= limit })) == [.medium, .high])
    #expect(try found(QueryPredicate(#Predicate { $0.level < limit })) == [.low])
    #expect(try found(QueryPredicate(#Predicate { range.contains($0.level) })) == [.low, .medium])
  }

  @Test(.evidence("P-01")) func `a predicate can list values or compare raw values`() throws {
    let (limit, wanted) = (Urgency.medium, Urgency.allCases.filter { $0 >= .medium })
    let optional: [Urgency?] = [.medium, .high]
    #expect(try found(QueryPredicate(#Predicate { wanted.contains($0.urgency) })) == wanted)
    #expect(try found(QueryPredicate(#Predicate { optional.contains($0.spare) })) == wanted)
    #expect(try found(QueryPredicate(#Predicate { $0.urgency == limit })) == [.medium])
    #expect(try found(QueryPredicate(#Predicate { $0.spare != limit })) == [.low, .high])
    #expect(try found(QueryPredicate(format: "urgency >= %@", limit)) == [.medium])
    #expect(try found(QueryPredicate(format: "urgency < %@", limit)) == [.low, .high])
  }
}
