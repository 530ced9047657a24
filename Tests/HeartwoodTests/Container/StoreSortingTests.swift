import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

private final class Writer: ManagedObject {
  @Attribute var code: Int = 0
  @Attribute var name: String = ""

  override class var entity: Entity { Entity("Writer") { Unique(\Writer.code) } }
}

/// A class whose objects use objects of another store.
private final class Quotation: ManagedObject {
  @Attribute var number: Int = 0
  @Attribute var code: Int = 0

  var writerName: String {
    (try? managedObjectContext?.existingObject(where: \Writer.code, equals: code))?.name ?? ""
  }
}

@Suite("Sorting by objects of another store")
struct StoreSortingTests {
  enum Reading: CaseIterable { case fetch, batches, list }

  private let container: PersistentContainer
  private let other: ManagedObjectContext

  init() throws { try self.init(isReversed: false) }

  /// Creates a container with two stores.
  ///
  /// - Parameter isReversed: Whether the first store is the store of the writers.
  private init(isReversed: Bool) throws {
    var options = ContainerOptions()
    options.isInMemory = true
    let name = UUID().uuidString
    container = try PersistentContainer(
      url: URL(filePath: "/\(name)/first"),
      schema: isReversed ? Schema(Writer.self) : Schema(Quotation.self), options: options)
    try container.addStore(
      url: URL(filePath: "/\(name)/second"), entities: [isReversed ? Quotation.self : Writer.self])
    other = container.newContext()
    for number in 0..<3 {
      let quotation = Quotation(context: other)
      (quotation.number, quotation.code) = (number, number)
    }
    try other.save()
    for code in 0..<3 {
      let writer = Writer(context: other)
      (writer.code, writer.name) = (code, ["b", "c", "a"][code])
    }
    try other.save()
  }

  /// Returns the numbers of the quotations, sorted by the names of their writers.
  private func numbers(
    _ reading: Reading, _ context: ManagedObjectContext, includesPendingChanges: Bool = true
  ) throws -> [Int] {
    var request = FetchRequest<Quotation>(sort: [SortDescriptor(\.writerName)])
    request.includesPendingChanges = includesPendingChanges
    switch reading {
    case .fetch: return try context.fetch(request).map(\.number)
    case .batches: return try context.fetchBatched(request).map(\.number)
    case .list:
      let controller = FetchedResultsController(fetchRequest: request, context: context)
      try controller.performFetch()
      return controller.map(\.number)
    }
  }

  @Test(.evidence("ST-01"), .evidence("QG-18"), arguments: Reading.allCases, [false, true])
  func `a sort can be the first use of a store`(reading: Reading, isPinned: Bool) throws {
    let context = container.newContext()
    if isPinned { try context.setQueryGenerationFrom(.current) }
    #expect(try numbers(reading, context) == [2, 0, 1])
    #expect(try context.fetch(FetchRequest<Writer>()).count == 3)
    let new = Writer(context: other)
    new.code = 3
    try other.save()
    #expect(try context.count(for: FetchRequest<Writer>()) == (isPinned ? 3 : 4))
    #expect(try numbers(reading, context) == [2, 0, 1])
    withExtendedLifetime(context) {}
  }

  @Test(
    .evidence("ST-01"), .evidence("FO-04"), arguments: Reading.allCases,
    [(false, false), (false, true), (true, false), (true, true)])
  func `an order without unsaved changes can use another store`(
    reading: Reading, setting: (isReversed: Bool, isPinned: Bool)
  ) throws {
    let stores = try StoreSortingTests(isReversed: setting.isReversed)
    let context = stores.container.newContext()
    if setting.isPinned {
      try context.setQueryGenerationFrom(.current)
      #expect(try context.count(for: FetchRequest<Quotation>()) == 3)
    }
    let quotations = try context.fetch(FetchRequest<Quotation>(sort: [SortDescriptor(\.number)]))
    // The change is not saved, so it does not affect the order.
    quotations[0].code = 100
    let writers = try stores.other.fetch(
      FetchRequest<Writer>(sort: [SortDescriptor(\.code)]))
    for (writer, name) in zip(writers, ["2", "1", "3"]) { writer.name = name }
    try stores.other.save()
    let found = try stores.numbers(reading, context, includesPendingChanges: false)
    #expect(found == (setting.isPinned ? [2, 0, 1] : [1, 0, 2]))
    #expect(quotations[0].code == 100 && context.updatedObjects == [quotations[0]])
    withExtendedLifetime(context) {}
  }
}
