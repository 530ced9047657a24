import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

/// Checks random requests that have a sort order, a limit and an offset against plain arrays.
@Suite("Random sort orders")
struct FetchOrderModelTests {
  @Test(
    .evidence("FO-01"), .evidence("FO-02"), .evidence("FO-03"), .evidence("FO-09"),
    arguments: TestScale.seeds(quick: 1, all: 3))
  func `fetches with random sort orders equal sorted arrays`(seed: UInt64) throws {
    let herd = try Herd(seed: seed, count: TestScale.pick(quick: 120, all: 250))
    var indexed = 0
    for number in 0..<TestScale.pick(quick: 45, all: 300, long: 1200) {
      let terms = (0..<herd.random.below(3)).map { _ in Term.any(&herd.random) }
      let condition: RandomCondition? =
        switch number % 5 {
        case 0: nil
        case 1: .any(&herd.random, depth: 1)
        default: .lookup(&herd.random)
        }
      var request = FetchRequest<Animal>(sort: terms.map(\.descriptor))
      if herd.random.isTrue(in256: 160) { request.fetchLimit = herd.random.below(30) }
      if herd.random.isTrue(in256: 80) { request.fetchOffset = herd.random.below(10) }
      request.predicate = try condition.map {
        try QueryPredicate(format: $0.format, arguments: $0.arguments)
      }
      let explanation = try herd.contexts[0].context.explain(request)
      if !explanation.indexes.isEmpty { indexed += 1 }
      let label =
        "seed \(seed), \(number): \(condition?.format ?? "all") \(condition?.arguments ?? []) by "
        + "\(terms.map(\.name)), \(request.fetchOffset) ..+ \(request.fetchLimit ?? -1)\n"
        + "\(explanation)"
      for ((name, context), all) in zip(herd.contexts, herd.all) {
        let found = try context.fetch(request)
        let expected = Self.expected(all, terms, condition, request)
        guard found != expected else { continue }
        Issue.record("\(label)\n\(name): \(found.map(\.name)) instead of \(expected.map(\.name))")
      }
      try expectPages(herd, terms, condition, request, label)
      let context = herd.contexts[0].context
      let expected = Self.expected(herd.all[0], terms, condition, request).map(\.objectID)
      #expect(try context.fetchObjectIDs(request) == expected, "\(label)")
    }
    #expect(indexed > 10)
  }

  /// Compares a page that begins after a random object with the rest of the list.
  private func expectPages(
    _ herd: Herd, _ terms: [Term], _ condition: RandomCondition?, _ request: FetchRequest<Animal>,
    _ label: String
  ) throws {
    var all = request
    (all.fetchLimit, all.fetchOffset) = (nil, 0)
    for ((name, context), animals) in zip(herd.contexts, herd.all) {
      let expected = Self.expected(animals, terms, condition, all)
      guard !expected.isEmpty else { continue }
      let position = herd.random.below(expected.count)
      let rest = expected[(position + 1)...].prefix(request.fetchLimit ?? .max)
      let found = try context.fetch(request.after(expected[position]))
      #expect(found == Array(rest), "\(label)\n\(name), after \(position)")
    }
  }

  private static func expected(
    _ all: [Animal], _ terms: [Term], _ condition: RandomCondition?,
    _ request: FetchRequest<Animal>
  ) -> [Animal] {
    var result = all.filter { condition?.holds($0) ?? true }
    if terms.last?.isReversed == true { result.reverse() }
    // `sort` is stable. The stability is not documented, but the tests of the standard library
    // check it.
    result.sort { first, second in
      for term in terms {
        let order = term.order(first, second)
        if order != 0 { return (order < 0) != term.isReversed }
      }
      return false
    }
    let rest = result.dropFirst(request.fetchOffset)
    return Array(request.fetchLimit.map { rest.prefix($0) } ?? rest)
  }

  /// A sort descriptor, and a plain comparison with the same meaning.
  private struct Term {
    let name: String
    let descriptor: SortDescriptor<Animal>
    let isReversed: Bool
    let order: (Animal, Animal) -> Int

    static func any(_ random: inout SeededGenerator) -> Term {
      let isReversed = random.isTrue(in256: 128)
      func term<Value: Comparable>(
        _ name: String, _ descriptor: SortDescriptor<Animal>, _ value: @escaping (Animal) -> Value?
      ) -> Term {
        Term(
          name: name + (isReversed ? " reversed" : ""), descriptor: descriptor,
          isReversed: isReversed
        ) { first, second in
          guard let first = value(first) else { return value(second) == nil ? 0 : -1 }
          guard let second = value(second) else { return 1 }
          // NaN sorts last.
          if first != first || second != second {
            return (first != first ? 1 : 0) - (second != second ? 1 : 0)
          }
          return first < second ? -1 : first == second ? 0 : 1
        }
      }
      let order: SortOrder = isReversed ? .reverse : .forward
      switch random.below(9) {
      case 0: return term("name", SortDescriptor(\.name, order: order)) { $0.name }
      case 1: return term("alias", SortDescriptor(\.alias, order: order)) { $0.alias }
      case 2: return term("nick", SortDescriptor(\.nick, order: order)) { $0.nick }
      case 3: return term("legs", SortDescriptor(\.legs, order: order)) { $0.legs }
      case 4: return term("rank", SortDescriptor(\.rank, order: order)) { $0.rank }
      case 5: return term("weight", SortDescriptor(\.weight, order: order)) { $0.weight }
      case 6: return term("price", SortDescriptor(\.price, order: order)) { $0.price }
      case 7:
        return term("street", SortDescriptor(\.home?.street, order: order)) { $0.home?.street }
      default:
        return term("town", SortDescriptor(\.home?.town?.name, order: order)) {
          $0.home?.town?.name
        }
      }
    }
  }
}
