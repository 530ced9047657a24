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

  init() throws {
    var options = ContainerOptions()
    options.isInMemory = true
    let name = UUID().uuidString
    container = try PersistentContainer(
      url: URL(filePath: "/\(name)/quotations"), schema: Schema(Quotation.self), options: options)
    try container.addStore(url: URL(filePath: "/\(name)/writers"), entities: [Writer.self])
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
    _ reading: Reading, _ context: ManagedObjectContext
  ) throws -> [Int] {
    let request = FetchRequest<Quotation>(sort: [SortDescriptor(\.writerName)])
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
}
