import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

/// Tests several edits to one object in a child context and its parent.
@Suite("Repeated edits in child contexts")
struct RepeatedEditTests {
  private let fixture: GraphFixture
  private let id: ManagedObjectID

  init() throws {
    fixture = try GraphFixture()
    id = try fixture.person("Ada", age: 1)
  }

  /// Others save the value of the child's first edit, which the child reads as its own.
  @Test(.evidence("N-05"), .evidence("C-02"))
  func `are based on the value that the child read first`() throws {
    let chain = fixture.chain(depth: 1)
    chain.root.mergePolicy = .custom { conflict in
      guard conflict.base["age"] == .integer(1) else { return }
      conflict.result["age"] = .integer(99)
    }
    let ada: Person = chain.child.object(with: id)
    #expect(ada.age == 1)
    try fixture.change(id) { $0.name = "Theirs" }
    ada.age = 10
    try chain.child.save()
    try fixture.change(id) { $0.age = 10 }
    chain.root.object(Person.self, with: id).age = 15
    ada.age = 20
    try chain.save()
    #expect(try fixture.stored(id)?.age == 99)
  }

  @Test(.evidence("N-04"), arguments: [false, true], [false, true])
  func `a saved child shows no reference to an object that its parent has deleted`(
    deletesHall: Bool, hasRead: Bool
  ) throws {
    let saved = try fixture.saved { context in
      let (hall, keeper) = (Hall(context: context), Keeper(context: context))
      hall.keeper = keeper
      return (hall, keeper)
    }
    let (hallID, keeperID) = (saved.0.objectID, saved.1.objectID)
    let chain = fixture.chain(depth: 1)
    let hall: Hall = chain.child.object(with: hallID)
    let keeper: Keeper = chain.child.object(with: keeperID)
    if hasRead { #expect(hall.keeper === keeper && keeper.hall === hall) }
    chain.root.delete(chain.root.object(with: deletesHall ? hallID : keeperID))
    if deletesHall { keeper.id = UUID() } else { hall.number = 7 }
    try chain.child.save()
    #expect(deletesHall ? keeper.hall == nil : hall.keeper == nil)
    try chain.root.save()
    #expect(deletesHall ? keeper.hall == nil : hall.keeper == nil)
  }
}
