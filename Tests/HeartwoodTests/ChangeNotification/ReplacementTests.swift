import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

@Suite("New objects that other objects replace")
struct ReplacementTests {
  @Test(
    .evidence("OB-01"), .evidence("LR-03"), .evidence("C-12"), arguments: [false, true],
    [false, true])
  func `replacing a new object updates the relationships to it`(
    isLoaded: Bool, hasPermanentID: Bool
  ) throws {
    let fixture = try GraphFixture(purchases)
    let ids = try fixture.saved { context in
      let order = Purchase(context: context)
      order.number = 7
      return [order, Sticker(context: context), Article(context: context)]
    }.map(\.objectID)
    let context = fixture.context()
    context.tracksObservation = true
    context.mergePolicy = .mergeByPropertyObjectTrump
    let known = try isLoaded ? context.existingObject(Purchase.self, with: ids[0]) : nil
    let label = try #require(try context.existingObject(Sticker.self, with: ids[1]))
    let article = try #require(try context.existingObject(Article.self, with: ids[2]))
    let new = Purchase(context: context)
    new.number = 7
    (label.orders, article.order) = ([new], new)
    let (members, reference) = (watch { label.orders }, watch { article.order })
    let live = try FollowedResults(FetchRequest<Article>(), context)
    if hasPermanentID { try context.obtainPermanentIDs(for: [new]) }
    context.processPendingChanges()
    #expect(live.news().isEmpty && members() == 0 && reference() == 0)
    try context.save()
    #expect(article.order === (known ?? new) && label.orders == [known ?? new])
    #expect(members() == (isLoaded ? 1 : 0) && reference() == (isLoaded ? 1 : 0))
    #expect(live.news().map(\.updated) == (isLoaded ? [[ids[2]]] : []))
  }
}
