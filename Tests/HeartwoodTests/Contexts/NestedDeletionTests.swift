import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

private final class Cabinet: ManagedObject {
  @ToMany(inverse: \Rack.cabinet, deleteRule: .cascade) var racks: Set<Rack>
}

private final class Rack: ManagedObject {
  @Attribute var name: String = ""
  @ToOne var cabinet: Cabinet?
  @ToOne(deleteRule: .cascade) var favourite: Tool?
}

private final class Tool: ManagedObject {
  @Attribute var number: Int = 0
}

@Suite("Deletions in child contexts")
struct NestedDeletionTests {
  enum Edit: CaseIterable { case none, removal, replacement, replacementAndBack, others }

  @Test(
    .evidence("N-02"), .evidence("R-03"), .evidence("C-10"), arguments: Edit.allCases,
    [(false, false), (false, true), (true, false), (true, true)])
  func `a cascade ignores an object that was already removed from the reference`(
    edit: Edit, place: (isChild: Bool, deletesCabinet: Bool)
  ) throws {
    let fixture = try GraphFixture(Schema(Cabinet.self, Rack.self, Tool.self))
    let former = try fixture.saved { other in
      let (cabinet, rack) = (Cabinet(context: other), Rack(context: other))
      let tools = (0..<2).map { _ in Tool(context: other) }
      (rack.cabinet, rack.favourite, tools[1].number) = (cabinet, tools[0], 1)
      return (cabinet: cabinet, rack: rack, tools: tools)
    }
    let root = fixture.context()
    root.mergePolicy = .mergeByPropertyObjectTrump
    let context = place.isChild ? fixture.child(of: root) : root
    let cabinet = context.object(Cabinet.self, with: former.cabinet.objectID)
    let rack = context.object(Rack.self, with: former.rack.objectID)
    let tools = former.tools.map { context.object(Tool.self, with: $0.objectID) }
    #expect(rack.favourite === tools[0] && rack.cabinet === cabinet)
    switch edit {
    case .none: break
    case .removal: rack.favourite = nil
    case .replacement: rack.favourite = tools[1]
    case .replacementAndBack: (rack.favourite, rack.favourite) = (tools[1], tools[0])
    case .others:
      let other = place.isChild ? root : fixture.context()
      let theirs = other.object(Rack.self, with: rack.objectID)
      theirs.favourite = other.object(Tool.self, with: tools[1].objectID)
      if !place.isChild { try other.save() }
    }
    context.delete(place.deletesCabinet ? cabinet : rack)
    try context.save()
    try root.save()
    let left = try fixture.context().fetch(FetchRequest<Tool>()).map(\.number)
    let expected: [Edit: [Int]] = [
      .none: [1], .removal: [0, 1], .replacement: [0], .replacementAndBack: [1], .others: [],
    ]
    #expect(left.sorted() == expected[edit])
  }

  @Test(.evidence("P-09"), .evidence("N-01"))
  func `a predicate ignores a deleted target that another context has assigned`() throws {
    let fixture = try GraphFixture(Schema(Cabinet.self, Rack.self, Tool.self))
    let former = try fixture.saved { (Cabinet(context: $0), Rack(context: $0)) }
    let root = fixture.context()
    let cabinet = root.object(Cabinet.self, with: former.0.objectID)
    #expect(cabinet.racks.isEmpty)
    let child = fixture.child(of: root)
    child.delete(child.object(Cabinet.self, with: cabinet.objectID))
    try fixture.saved { other in
      let rack = other.object(Rack.self, with: former.1.objectID)
      rack.cabinet = other.object(Cabinet.self, with: cabinet.objectID)
    }
    let request = FetchRequest<Rack>(where: #Predicate { $0.cabinet == nil })
    let racks = try child.fetch(request)
    #expect(racks.count == 1 && racks.allSatisfy { $0.cabinet == nil })
    withExtendedLifetime(cabinet) {}
  }
}
