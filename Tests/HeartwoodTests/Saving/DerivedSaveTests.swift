import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

@Suite("Derived attributes in one save")
struct DerivedSaveTests {
  private let fixture: GraphFixture
  private let context: ManagedObjectContext
  private let rome: Town

  init() throws {
    fixture = try GraphFixture(towns)
    context = fixture.context()
    rome = Town(context: context)
    (rome.name, rome.alias) = ("Rome", "OLD")
    try context.save()
  }

  @Test(.evidence("D-01"))
  func `a change of members alone sets the time of the save`() throws {
    let house = House(context: context)
    try context.save()
    let saved = try #require(rome.saved)
    rome.houses = [house]
    try context.save()
    #expect(rome.saved ?? saved > saved)
    let stored: Town = fixture.context().object(with: rome.objectID)
    #expect(stored.saved == rome.saved && stored.houseCount == 1)
  }

  /// The save changes the row before the new object is merged into it.
  @Test(.evidence("D-03"), .evidence("C-12"))
  func `a changed row that a new object matches has the values derived from both`() throws {
    context.mergePolicy = .mergeByPropertyObjectTrump
    rome.alias = "EDITED"
    let twin = Town(context: context)
    (twin.name, twin.alias) = ("ROME", "NEW")
    try context.save()
    let stored = try #require(try fixture.context().fetch(FetchRequest<Town>()).first)
    #expect(stored.objectID == rome.objectID && stored.name == "ROME" && stored.alias == "NEW")
    #expect(stored.smallAlias == "new" && stored.capitals == "ROME")
  }
}
