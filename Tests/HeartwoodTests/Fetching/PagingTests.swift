import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

final class Entry: ManagedObject {
  @Attribute var rank: Int = 0
  @Attribute var day: Date? = nil
  @Attribute var name: String = ""
  @Attribute var free: Int = 0

  override class var entity: Entity {
    Entity("Entry") {
      Index(\Entry.rank)
      Index(\Entry.day, \Entry.name)
    }
  }
}

@Suite("Keyset pagination")
struct PagingTests {
  private let fixture: GraphFixture
  private let context: ManagedObjectContext
  private static let count = 1200

  init() throws {
    fixture = try GraphFixture(Schema(Entry.self))
    let writer = fixture.context()
    var random = SeededGenerator(seed: 5)
    for number in 0..<Self.count {
      let entry = Entry(context: writer)
      entry.rank = random.below(400)
      let day = Double(random.below(300))
      entry.day = number % 9 == 0 ? nil : Date(timeIntervalSinceReferenceDate: day)
      entry.name = "\(random.below(50))"
      entry.free = number
    }
    try writer.save()
    context = fixture.context()
  }

  /// Reads all entries page by page; each page starts after the last entry of the previous page.
  ///
  /// - Returns: The entries, and the largest estimate of the rows that a page needs.
  private func pages(
    _ sort: [SortDescriptor<Entry>], limit: Int, after: (Entry) -> Predicate<Entry>
  ) throws -> (entries: [Int], mostRows: Int) {
    var (entries, mostRows): ([Int], Int) = ([], 0)
    var request = FetchRequest<Entry>(sort: sort, limit: limit)
    while true {
      let page = try context.fetch(request)
      guard let last = page.last else { return (entries, mostRows) }
      entries += page.map(\.free)
      request.predicate = QueryPredicate(after(last))
      mostRows = max(mostRows, try context.explain(request).estimatedRowCount)
    }
  }

  @Test(.evidence("FO-07"), arguments: [false, true])
  func `paging by an indexed attribute reads one page of rows in either direction`(
    isBackwards: Bool
  ) throws {
    let order: SortOrder = isBackwards ? .reverse : .forward
    let sort = [SortDescriptor(\Entry.rank, order: order), SortDescriptor(\Entry.free)]
    let (entries, mostRows) = try pages(sort, limit: 20) { last in
      let (rank, free) = (last.rank, last.free)
      return isBackwards
        ? #Predicate { $0.rank < rank || ($0.rank == rank && $0.free > free) }
        : #Predicate { $0.rank > rank || ($0.rank == rank && $0.free > free) }
    }
    #expect(entries == (try context.fetchValues(FetchRequest<Entry>(sort: sort), \.free)))
    #expect(entries.count == Self.count && mostRows < 120)
  }

  @Test(.evidence("FO-09"), arguments: [false, true])
  func `pages after an object read one page of rows in either direction`(isBackwards: Bool) throws {
    let order: SortOrder = isBackwards ? .reverse : .forward
    var request = FetchRequest<Entry>(sort: [SortDescriptor(\.rank, order: order)], limit: 20)
    let all = try context.fetchValues(
      FetchRequest<Entry>(sort: request.sortDescriptors), \.free)
    var (entries, mostRows): ([Int], Int) = ([], 0)
    while let last = try context.fetch(request).map({ (entry: Entry) in
      entries.append(entry.free)
      return entry
    }).last {
      // Entries inserted before the position must not shift the next page.
      let entry = Entry(context: context)
      (entry.rank, entry.free) = (isBackwards ? 1000 : -1, -1)
      request = try request.after(last)
      mostRows = max(mostRows, try context.explain(request).estimatedRowCount)
    }
    #expect(entries == all && mostRows < 120)
    context.rollback()
    let comparator = FetchRequest<Entry>(sort: [SortDescriptor(\.name, comparator: .lexical)])
    let first = try #require(try context.fetch(FetchRequest<Entry>(limit: 1)).first)
    #expect(throws: ObjectGraphError.self) { try comparator.after(first) }
    #expect(throws: ObjectGraphError.self) { try request.after(Entry()) }
    for changed in [[], comparator.sortDescriptors] {
      request.sortDescriptors = changed
      #expect(throws: ObjectGraphError.self) { try context.fetch(request) }
    }
  }

  @Test(.evidence("FO-07"), arguments: [false, true])
  func `paging by the attributes of one index reads one page of rows`(isBackwards: Bool) throws {
    let order: SortOrder = isBackwards ? .reverse : .forward
    let sort = [
      SortDescriptor(\Entry.day, order: order), SortDescriptor(\Entry.name, order: order),
    ]
    var request = FetchRequest<Entry>(sort: sort, limit: 20)
    let middle = Date(timeIntervalSinceReferenceDate: 150)
    request.predicate =
      isBackwards
      ? try QueryPredicate(format: "day < %@ OR day == %@ AND name < %@", middle, middle, "25")
      : try QueryPredicate(format: "day > %@ OR day == %@ AND name > %@", middle, middle, "25")
    let explanation = try context.explain(request)
    #expect(explanation.indexes == ["day, name"], "\(explanation)")
    #expect(explanation.estimatedRowCount <= 20, "\(explanation)")
    let all = try context.fetch(FetchRequest<Entry>(sort: sort)).filter { entry in
      guard let day = entry.day else { return false }
      return isBackwards
        ? day < middle || day == middle && entry.name < "25"
        : day > middle || day == middle && entry.name > "25"
    }
    #expect(try context.fetch(request) == Array(all.prefix(20)))
  }

  @Test(.evidence("FO-02"), arguments: TestScale.seeds(quick: 1, all: 4))
  func `paging finds the same objects without indexes and with unsaved changes`(seed: UInt64) throws
  {
    var random = SeededGenerator(seed: seed)
    let entries = try context.fetch(FetchRequest<Entry>())
    let rounds = TestScale.pick(quick: 20, all: 30)
    for round in 0..<rounds {
      if round == rounds / 2 {
        for _ in 0..<40 { entries[random.below(entries.count)].rank = random.below(400) }
        for number in 0..<20 {
          let entry = Entry(context: context)
          (entry.rank, entry.free) = (random.below(400), 5000 + number)
        }
      }
      let (rank, other, free) = (random.below(420) - 10, random.below(400), random.below(3000))
      let (limit, offset) = (random.below(60), random.below(3) * 7)
      let predicates: [(Predicate<Entry>, (Entry) -> Bool)] = [
        (
          #Predicate { $0.rank > rank || ($0.rank == rank && $0.free > free) },
          { $0.rank > rank || $0.rank == rank && $0.free > free }
        ),
        (
          #Predicate { $0.rank < rank || ($0.rank == rank && $0.free < free) },
          { $0.rank < rank || $0.rank == rank && $0.free < free }
        ),
        (
          #Predicate { $0.rank == rank || ($0.rank > other && $0.rank < other + 9) },
          { $0.rank == rank || $0.rank > other && $0.rank < other + 9 }
        ),
        (
          #Predicate { !($0.rank > rank || $0.rank == other) && $0.free != free },
          { !($0.rank > rank || $0.rank == other) && $0.free != free }
        ),
        (
          #Predicate { ($0.rank >= rank || $0.day == nil) && $0.rank <= other },
          { ($0.rank >= rank || $0.day == nil) && $0.rank <= other }
        ),
      ]
      let (predicate, holds) = predicates[random.below(predicates.count)]
      let isReversed = random.isTrue(in256: 128)
      let sort = [
        SortDescriptor(\Entry.rank, order: isReversed ? .reverse : .forward),
        SortDescriptor(\Entry.free, order: random.isTrue(in256: 128) ? .reverse : .forward),
      ]
      let isLast = sort[1].order == .reverse
      let all = try context.fetch(FetchRequest<Entry>()).filter(holds).sorted { first, second in
        if first.rank != second.rank { return (first.rank < second.rank) != isReversed }
        return (first.free < second.free) != isLast
      }
      let request = FetchRequest(where: predicate, sort: sort, limit: limit, offset: offset)
      let found = try context.fetch(request).map(\.free)
      #expect(
        found == all.dropFirst(offset).prefix(limit).map(\.free), "seed \(seed), round \(round)")
      let counted = try context.count(for: FetchRequest<Entry>(where: predicate))
      #expect(counted == all.count, "seed \(seed), round \(round)")
    }
  }

  @Test(.evidence("FO-09"), arguments: [false, true])
  func `pages continue after an object whose deletion has not been saved yet`(
    isReversed: Bool
  ) throws {
    let order: SortOrder = isReversed ? .reverse : .forward
    let sort = [
      SortDescriptor(\Entry.day, order: order), SortDescriptor(\Entry.name, order: order),
    ]
    let all = try context.fetch(FetchRequest<Entry>(sort: sort)).map(\.free)
    var request = FetchRequest<Entry>(sort: sort, limit: 100)
    var found: [Int] = []
    while let page = Optional(try context.fetch(request)), let last = page.last {
      found += page.map(\.free)
      context.delete(last)
      request = try request.after(last)
      #expect(found.count <= all.count)
      if found.count > all.count { break }
    }
    #expect(found == all)
    let last = try #require(try context.fetch(FetchRequest<Entry>(sort: sort)).last)
    let other = fixture.context()
    let fault: Entry = other.object(with: last.objectID)
    context.delete(last)
    try context.save()
    let error = #expect(throws: ObjectGraphError.self) { try request.after(last) }
    #expect(error?.message.contains("before you save the deletion") == true)
    // Without a row, the object has no sort values.
    expect(.missingObject, "no row") { _ = try request.after(fault) }
    expect(.missingObject) { _ = try request.after(fault) }
  }

  @Test(.evidence("FO-09")) func `pages continue after a fault`() throws {
    let request = FetchRequest<Entry>(
      sort: [SortDescriptor(\.rank), SortDescriptor(\.free)], limit: 10)
    let ids = try context.fetchObjectIDs(FetchRequest(sort: request.sortDescriptors, limit: 20))
    let other = fixture.context()
    let fault: Entry = other.object(with: ids[9])
    #expect(try other.fetchObjectIDs(request.after(fault)) == Array(ids[10...]))
    // The row of a new object does not exist in an earlier generation.
    let pinned = try fixture.container.newContext(pinnedTo: .current)
    _ = try pinned.count(for: request)
    let entry = Entry(context: context)
    try context.save()
    let later: Entry = pinned.object(with: entry.objectID)
    expect(.missingObject, "no row") { _ = try request.after(later) }
    context.delete(entry)
    try context.save()
  }
}
