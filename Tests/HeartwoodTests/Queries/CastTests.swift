import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

@Suite("Casts in predicates")
struct CastTests {
  @Test(.evidence("P-01"), .evidence("P-04"))
  func `a missing object is not of any class`() throws {
    let fixture = try GraphFixture(Schema(More.self))
    try fixture.saved { context in
      let (plain, more) = (Everything(context: context), More(context: context))
      (more.int, more.id) = (-1, 7)
      let others: [Everything?] = [nil, plain, more]
      for (number, other) in others.enumerated() {
        let object = More(context: context)
        (object.int, object.other) = (number, other)
      }
    }
    let cases: [(Predicate<More>, [Int])] = [
      (#Predicate { $0.other is More }, [2]),
      (#Predicate { ($0.other as? More)?.id == 7 }, [2]),
      (#Predicate { ($0.other as? More) == nil }, [-1, 0, 1]),
    ]
    for (position, (predicate, numbers)) in cases.enumerated() {
      let found = try fixture.context().fetch(FetchRequest<More>(where: predicate))
      #expect(found.map(\.int).sorted() == numbers, "case \(position)")
    }
  }
}
