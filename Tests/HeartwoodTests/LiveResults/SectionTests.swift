import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

@Suite("Sections of results")
struct SectionTests {
  private let fixture: GraphFixture
  private let context: ManagedObjectContext
  private let folk: [ManagedObjectID]
  private let pop: [ManagedObjectID]

  init() throws {
    fixture = try GraphFixture(songs)
    folk = try fixture.songs([1, 4], genre: "folk")
    pop = try fixture.songs([2, 3], genre: "pop")
    context = fixture.context()
  }

  private func song(_ id: ManagedObjectID) throws -> Song {
    try #require(try context.existingObject(Song.self, with: id))
  }

  @Test(.evidence("LR-04")) func `a section contains the objects with a common value`() throws {
    let live = try FollowedResults(
      FetchRequest<Song>(sort: [SortDescriptor(\.rank)]), context, sectionedBy: \.genre)
    let controller = live.controller
    #expect(live.check().ids == folk + pop && live.names == ["folk", "pop"])
    #expect(controller.sections.map(\.range) == [0..<2, 2..<4])
    #expect(controller.sections[1].objects.map(\.objectID) == pop)
    #expect(try controller.sections[1].value(as: String?.self) == "pop")
    let last = controller.object(at: IndexPath(indexes: [1, 1]))
    #expect(last.objectID == pop[1])
    #expect(controller.indexPath(forObject: last) == IndexPath(indexes: [1, 1]))
    #expect(controller.index(of: last) == 3 && controller.index(of: folk[1]) == 1)
    #expect(controller.object(at: 1).objectID == folk[1])
  }

  @Test func `lists and sections load what is accessed`() throws {
    let controller = FetchedResultsController(
      fetchRequest: FetchRequest<Song>(sort: [SortDescriptor(\.rank)]), context: context,
      sectionedBy: \.genre)
    #expect(controller.isEmpty && controller.first == nil && controller.last == nil)
    #expect(controller.results.isEmpty && controller.results.sections.isEmpty)
    try controller.performFetch()
    #expect(controller.count == 4 && context.registeredObjects.isEmpty)
    #expect(controller.first?.objectID == folk[0] && controller.last?.objectID == pop[1])
    #expect(controller.results[0] === controller[0] && controller.results.last === controller[3])
    #expect(controller.results.objectIDs == folk + pop && !controller.isEmpty)
    #expect(context.registeredObjects.count == 2)
    let section = controller.sections[1]
    #expect(section.count == 2 && section[1] === controller[3])
    #expect(context.registeredObjects.count == 2)
    #expect(controller.map(\.objectID) == folk + pop && section.map(\.objectID) == pop)
    #expect(controller.results.reversed().map(\.objectID) == (folk + pop).reversed())
  }

  @Test(.evidence("LR-04")) func `sections appear and disappear with their objects`() throws {
    let live = try FollowedResults(
      FetchRequest<Song>(sort: [SortDescriptor(\.genre, order: .reverse)]), context,
      sectionedBy: \.genre)
    #expect(live.names == ["pop", "folk"])
    // An object that moves to another section is reported as moved, even if its position is
    // unchanged.
    try song(folk[0]).genre = nil
    try song(folk[1]).genre = nil
    #expect(live.check().names == ["pop", nil])
    let news = live.news()
    #expect(news.count == 1 && news[0].difference.count == 4 && news[0].updated.isEmpty)
    #expect(news[0].sectionDifference.count == 2)
    context.delete(try song(pop[0]))
    #expect(live.check().news()[0].sectionDifference.isEmpty)
    context.delete(try song(pop[1]))
    #expect(live.check().names == [nil])
    context.rollback()
    #expect(live.check().names == ["pop", "folk"])
  }

  @Test(.evidence("LR-04"), arguments: [SortOrder.forward, .reverse], [false, true])
  func `the first sort descriptor orders the sections even if a later one has a comparator`(
    order: SortOrder, isChild: Bool
  ) throws {
    let other: SortOrder = order == .forward ? .reverse : .forward
    let request = FetchRequest<Song>(sort: [
      SortDescriptor(\.genre, order: order),
      SortDescriptor(\.title, comparator: .lexical, order: other),
    ])
    let target = isChild ? fixture.child(of: context) : context
    let live = try FollowedResults(request, target, sectionedBy: \.genre)
    let names = ["folk", "pop"]
    #expect(live.check().names == (order == .forward ? names : names.reversed()))
    #expect(try live.ids == target.fetchObjectIDs(request))
    // Sections are also inserted and removed in this order.
    try fixture.songs([5], genre: "jazz")
    try fixture.songs([6])
    try fixture.saved { other in
      for id in pop { other.delete(other.object(Song.self, with: id)) }
    }
    let rest = [nil, "folk", "jazz"]
    #expect(live.check().names == (order == .forward ? rest : rest.reversed()))
    #expect(try live.ids == target.fetchObjectIDs(request))
  }

  @Test(.evidence("LR-04")) func `sections can use a related object's attribute or a boolean`()
    throws
  {
    let album = Album(context: context)
    album.name = "b"
    try song(pop[0]).album = album
    let live = try FollowedResults(
      FetchRequest<Song>(sort: [SortDescriptor(\.rank)]), context, sectionedBy: \.album?.name)
    #expect(live.check().names == [nil, "b"] && live.ids == [folk[0], pop[1], folk[1], pop[0]])
    album.name = "c"
    #expect(live.check().names == [nil, "c"] && live.news().count == 1)
    let loved = try FollowedResults(FetchRequest<Song>(), context, sectionedBy: \.isLoved)
    #expect(loved.names == ["false"])
    try song(folk[0]).isLoved = true
    #expect(loved.check().names == ["false", "true"] && loved.ids.last == folk[0])
  }

  @Test(.evidence("LR-04")) func `sections by a value without an order throw`() throws {
    let controller = FetchedResultsController(
      fetchRequest: FetchRequest<Album>(), context: context, sectionedBy: \.songs)
    expect(.unknownProperty, "songs") { try controller.performFetch() }
    #expect(controller.count == 0 && controller.sections.isEmpty)
  }
}
