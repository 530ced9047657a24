import Foundation
import Heartwood
import HeartwoodTestSupport
import Synchronization
import Testing

@Suite("Large predicates")
struct DeepPredicateTests {
  private typealias Condition = QueryPredicate<Song>

  /// Runs a closure on a thread with a stack of 512 KiB.
  ///
  /// - Returns: The error that the closure throws, if any.
  private func onSmallStack(_ body: @escaping @Sendable () throws -> Void) -> (any Error)? {
    let failure = Mutex<(any Error)?>(nil)
    let done = DispatchSemaphore(value: 0)
    let thread = Thread {
      do { try body() } catch { failure.withLock { $0 = error } }
      done.signal()
    }
    thread.stackSize = 512 << 10
    thread.start()
    done.wait()
    return failure.withLock { $0 }
  }

  private static func equals(_ rank: Int) -> Condition {
    Condition(#Predicate { $0.rank == rank })
  }

  /// Runs a closure with a context on a store of three songs, with the ranks 1, 5 and 9.
  ///
  /// - Returns: The error that the closure throws, if any.
  private func withSongs(
    _ body: @escaping @Sendable (ManagedObjectContext) throws -> Void
  ) throws -> (any Error)? {
    let fixture = try GraphFixture(songs)
    try fixture.songs([1, 5, 9])
    let container = fixture.container
    return onSmallStack { try body(container.newContext()) }
  }

  /// Returns the number of terms in a predicate of the given shape; common shapes have more terms.
  private static func termCount(_ shape: Shape) -> Int {
    switch shape {
    // Even the smaller counts overflow the stack if each term uses 50 bytes of it.
    case .leftOr, .rightAnd, .any, .list, .formatOr, .manyNots:
      TestScale.pick(quick: 25_000, all: 100_000)
    default: TestScale.pick(quick: 10_000, all: 20_000)
    }
  }

  private enum Shape: String, CaseIterable, Sendable {
    case leftOr, rightOr, any, all, leftAnd, rightAnd, manyNots, nestedAny, list, doubles
    case formatOr, formatAnd, formatList, formatArgument, shared
  }

  /// Returns a predicate of the given shape that, among the ranks 1, 5 and 9, matches only 5.
  private static func condition(_ shape: Shape) throws -> Condition {
    let count = termCount(shape)
    // Create the operands once and reuse them, because creating them takes most of the time.
    let some = (100..<200).map(equals)
    let others = (100..<200).map { equals($0).not }
    var result = equals(5)
    switch shape {
    case .leftOr: for number in 0..<count { result = result || some[number % 100].not.not }
    case .rightOr: for number in 0..<count { result = some[number % 100].not.not || result }
    case .any: result = .any((0..<count).map { equals($0 == 0 ? 5 : 100 + $0) })
    case .all: result = .all((0..<count).map { $0 == 0 ? result : equals(100 + $0).not })
    case .leftAnd: for number in 0..<count { result = result && others[number % 100] }
    case .rightAnd: for number in 0..<count { result = others[number % 100] && result }
    case .manyNots: for _ in 0..<count { result = result.not }
    case .nestedAny:
      for number in 0..<count { result = .any([.any([result]), some[number % 100]]) }
    case .list:
      let ranks = [5] + Array(100..<100 + count)
      result = Condition(#Predicate { ranks.contains($0.rank) })
    case .doubles:
      let ranks = [5.0] + (100..<100 + count).map { Double($0) + 0.5 }
      result = try Condition(format: "rank IN %@", ranks)
    case .formatOr:
      let format = (0..<count).map { "rank == \(100 + $0)" }.joined(separator: " OR ")
      result = try Condition(format: "rank == 5 OR " + format)
    case .formatAnd:
      let format = (0..<count).map { "rank != \(100 + $0)" }.joined(separator: " AND ")
      result = try Condition(format: "rank == 5 AND " + format)
    case .formatList:
      let format = (100..<100 + count).map(String.init).joined(separator: ", ")
      result = try Condition(format: "rank IN {5, \(format)}")
    case .formatArgument:
      result = try Condition(format: "rank IN %@", [5] + Array(100..<100 + count))
    case .shared: for _ in 0..<count { result = result && result }
    }
    return result
  }

  @Test(.evidence("P-11"), arguments: TestScale.some(Shape.allCases, every: 4))
  private func `a predicate of 100,000 terms is evaluated on a 512 KiB stack`(shape: Shape) throws {
    let found = Mutex<[Int]>([])
    let error = try withSongs { context in
      var request = FetchRequest<Song>()
      request.predicate = try Self.condition(shape)
      let ranks = try context.fetch(request).map(\.rank)
      found.withLock { $0 = ranks }
      let song = Song(context: context)
      song.rank = 5
      let count = try context.count(for: request)
      #expect(count == 2)
      _ = try context.explain(request)
    }
    #expect(error == nil)
    #expect(found.withLock { $0 } == [5])
  }

  private enum Nest: String, CaseIterable, Sendable {
    case alternating, negated, leaves, formatParentheses, formatNots, formatSums
    case conditionals, arithmetic
  }

  /// Returns a predicate that is nested about `depth` levels deep.
  private static func nested(_ nest: Nest, _ depth: Int) throws -> Condition {
    var result = equals(5)
    switch nest {
    case .alternating:
      for level in 0..<depth {
        result = level % 2 == 0 ? result || equals(7) : result && equals(8).not
      }
    case .negated: for _ in 0..<depth / 2 { result = (result || equals(7)).not }
    case .leaves:
      // Both the leaves and their combination are deeply nested.
      let count = min(depth / 2, 20)
      let leaf = try Condition(
        format: String(repeating: "NOT ", count: count) + "rank == 5")
      result = leaf
      for level in 0..<depth / 2 { result = level % 2 == 0 ? result || leaf : result && leaf }
    case .formatParentheses:
      let parts = (String(repeating: "(", count: depth), String(repeating: ")", count: depth))
      result = try Condition(format: parts.0 + "rank == 5" + parts.1)
    case .formatNots:
      result = try Condition(format: String(repeating: "NOT ", count: depth) + "rank == 5")
    case .formatSums:
      result = try Condition(format: "rank == 5" + String(repeating: " + 0", count: depth))
    case .conditionals:
      result = try Condition(nestedChoice(depth))
    case .arithmetic:
      result = try Condition(nestedSum(depth))
    }
    return result
  }

  private static func nestedSum(_ depth: Int) throws -> Predicate<Song> {
    Predicate<Song> { song in
      func add(
        _ sum: some StandardPredicateExpression<Int>, _ left: Int
      ) -> any StandardPredicateExpression<Bool> {
        if left == 0 {
          return PredicateExpressions.build_Equal(
            lhs: sum, rhs: PredicateExpressions.build_Arg(5))
        }
        return add(
          PredicateExpressions.build_Arithmetic(
            lhs: sum, rhs: PredicateExpressions.build_Arg(0), op: .add), left - 1)
      }
      return add(
        PredicateExpressions.build_KeyPath(
          root: PredicateExpressions.build_Arg(song), keyPath: \.rank), min(depth, 70))
    }
  }

  private static func nestedChoice(_ depth: Int) throws -> Predicate<Song> {
    Predicate<Song> { song in
      func choose(
        _ test: some StandardPredicateExpression<Bool>, _ left: Int
      ) -> any StandardPredicateExpression<Bool> {
        if left == 0 { return test }
        return choose(
          PredicateExpressions.build_Conditional(
            test, PredicateExpressions.build_Arg(true), PredicateExpressions.build_Arg(false)),
          left - 1)
      }
      let rank = PredicateExpressions.build_KeyPath(
        root: PredicateExpressions.build_Arg(song), keyPath: \.rank)
      return choose(
        PredicateExpressions.build_Equal(lhs: rank, rhs: PredicateExpressions.build_Arg(5)),
        min(depth, 70))
    }
  }

  @Test(.evidence("P-11"), arguments: Nest.allCases)
  private func `too deeply nested predicates are rejected on a 512 KiB stack`(
    nest: Nest
  ) throws {
    for depth in [2, 10, 20, 40, 60, 61, 62, 63, 64, 65, 66, 100, 1000, 20_000] {
      let error = try withSongs { context in
        var request = FetchRequest<Song>()
        request.predicate = try Self.nested(nest, depth)
        let ranks = try context.fetch(request).map(\.rank)
        // With an odd number of negations, the predicate matches the other two songs.
        #expect(ranks == [5] || ranks == [1, 9], "\(nest) \(depth)")
        let song = Song(context: context)
        song.rank = 5
        _ = try context.count(for: request)
        try context.execute(BatchDeleteRequest<Song>(where: request.predicate))
      }
      if depth <= 20 { #expect(error == nil, "\(nest) \(depth)") }
      if depth >= 100 || error != nil {
        let error = try #require(error as? ObjectGraphError, "\(nest) \(depth)")
        #expect([.unsupportedPredicate, .predicateSyntax].contains(error.kind), "\(nest) \(depth)")
        #expect(error.message.contains("64"), "\(error.message)")
      }
    }
  }

  @Test(.evidence("P-11"))
  func `an empty conjunction matches everything and an empty disjunction nothing`() throws {
    let fixture = try GraphFixture(songs)
    try fixture.songs([1, 5, 9])
    let context = fixture.context()
    func count(_ predicate: QueryPredicate<Song>) throws -> Int {
      try context.count(for: FetchRequest<Song>(where: predicate))
    }
    #expect(try count(.all([])) == 3 && count(.any([])) == 0)
    #expect(try count(.all([]).not) == 0 && count(!.any([])) == 3)
    #expect(try count(.any([1, 9, 10].map { Self.equals($0) })) == 2)
    #expect(try count(.all([Self.equals(1), Self.equals(1).not])) == 0)
    #expect(try count(.all([Self.equals(1), .any([]) || Self.equals(1)])) == 1)
  }

  @Test(.evidence("P-10")) func `requests of all kinds accept large predicates`() throws {
    let fixture = try GraphFixture(songs)
    try fixture.songs([1, 5, 9])
    let context = fixture.context()
    let format = try QueryPredicate<Song>(format: "rank > %d", 1)
    let both = format && Self.equals(9).not
    let found = try context.fetch(FetchRequest(where: both)).map(\.rank)
    #expect(found == [5])
    #expect(try context.count(for: FetchRequest<Song>(where: nil)) == 3)
    let sorted = FetchRequest(where: format, sort: [SortDescriptor(\.rank, order: .reverse)])
    let controller = FetchedResultsController(fetchRequest: sorted, context: context)
    try controller.performFetch()
    #expect(controller.fetchedObjects.map(\.rank) == [9, 5])
    try context.execute(BatchUpdateRequest(where: both) { $0[\.rank] = 7 })
    try context.execute(BatchDeleteRequest(where: format && Self.equals(7)))
    let ranks = try context.fetchValues(FetchRequest<Song>(), \.rank)
    #expect(ranks == [1, 9])
  }
}
