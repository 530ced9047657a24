import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

@Suite("Observation of live results")
struct ResultsObservationTests {
  private let fixture: GraphFixture
  private let context: ManagedObjectContext
  private let ids: [ManagedObjectID]

  init() throws {
    fixture = try GraphFixture(songs)
    ids = try fixture.songs([10, 20])
    context = fixture.context()
  }

  @Test(.evidence("OB-03"))
  func `observers of a results controller are notified of its list and sections`() throws {
    let controller = FetchedResultsController(
      fetchRequest: FetchRequest<Song>(where: #Predicate { $0.rank > 15 }), context: context,
      sectionedBy: \Song.genre)
    try controller.performFetch()
    let list = watch { controller.count }
    let sections = watch { controller.sections.count }
    try fixture.changeSong(ids[1]) { $0.rank += 1 }
    context.processPendingChanges()
    #expect(list() == 0)
    try #require(try context.existingObject(Song.self, with: ids[0])).rank = 100
    context.processPendingChanges()
    #expect(list() == 1 && sections() == 1)
    let again = watch { controller.fetchedObjects }
    try fixture.songs([50])
    context.processPendingChanges()
    #expect(again() == 1 && controller.count == 3)
  }

  @Test(.evidence("OB-03"))
  func `observers of a results controller are notified of its first fetch`() throws {
    func notifications(_ least: Int) throws -> [Int] {
      let controller = FetchedResultsController(
        fetchRequest: FetchRequest<Song>(where: #Predicate { $0.rank > least }), context: context,
        sectionedBy: \.genre)
      let counts = [watch { controller.count }, watch { controller.sections.count }]
      try controller.performFetch()
      return counts.map { $0() }
    }
    #expect(try notifications(15) == [1, 1])
    #expect(try notifications(99) == [0, 0])
  }
}
