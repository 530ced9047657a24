import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

/// A node with each kind of to-many relationship.
final class MemberNode: ManagedObject {
  @Attribute(.unique) var id: Int = 0
  @ToOne var parent: MemberNode?
  @ToMany(inverse: \MemberNode.parent) var children: Set<MemberNode>
  @ToMany var friends: Set<MemberNode>
  @ToMany var likes: Set<MemberNode>
  @ToMany(inverse: \MemberNode.likes) var likedBy: Set<MemberNode>
  @ToOne var lane: MemberNode?
  @OrderedToMany(inverse: \MemberNode.lane) var queue: [MemberNode]
  @OrderedToMany var steps: [MemberNode]
  @ToMany var albums: Set<MemberNode>
  @OrderedToMany(inverse: \MemberNode.albums) var tracks: [MemberNode]
  @OrderedToMany var befores: [MemberNode]
  @OrderedToMany(inverse: \MemberNode.befores) var afters: [MemberNode]

  override class var entity: Entity {
    Entity("MemberNode") {
      Inverse(\MemberNode.friends, \MemberNode.friends)
      Inverse(\MemberNode.steps, \MemberNode.steps)
    }
  }

  enum Link: CaseIterable {
    case children, friends, likes, likedBy, albums, queue, steps, tracks, befores, afters
  }

  private func direct(_ link: Link) -> ToMany<MemberNode>.Members? {
    switch link {
    case .children: $children
    case .friends: $friends
    case .likes: $likes
    case .likedBy: $likedBy
    case .albums: $albums
    case .queue, .steps, .tracks, .befores, .afters: nil
    }
  }

  private func directList(_ link: Link) -> OrderedToMany<MemberNode>.Members? {
    switch link {
    case .queue: $queue
    case .steps: $steps
    case .tracks: $tracks
    case .befores: $befores
    case .afters: $afters
    case .children, .friends, .likes, .likedBy, .albums: nil
    }
  }

  /// The members, in their order if the relationship is ordered.
  func loaded(_ link: Link) -> [MemberNode] {
    switch link {
    case .children: children.sorted { $0.id < $1.id }
    case .friends: friends.sorted { $0.id < $1.id }
    case .likes: likes.sorted { $0.id < $1.id }
    case .likedBy: likedBy.sorted { $0.id < $1.id }
    case .albums: albums.sorted { $0.id < $1.id }
    case .queue: queue
    case .steps: steps
    case .tracks: tracks
    case .befores: befores
    case .afters: afters
    }
  }

  func toggleLoaded(_ link: Link, _ other: MemberNode) {
    switch link {
    case .children: children.formSymmetricDifference([other])
    case .friends: friends.formSymmetricDifference([other])
    case .likes: likes.formSymmetricDifference([other])
    case .likedBy: likedBy.formSymmetricDifference([other])
    case .albums: albums.formSymmetricDifference([other])
    case .queue: Self.toggle(other, in: &queue)
    case .steps: Self.toggle(other, in: &steps)
    case .tracks: Self.toggle(other, in: &tracks)
    case .befores: Self.toggle(other, in: &befores)
    case .afters: Self.toggle(other, in: &afters)
    }
  }

  private static func toggle(_ other: MemberNode, in list: inout [MemberNode]) {
    if let position = list.firstIndex(of: other) {
      list.remove(at: position)
    } else {
      list.append(other)
    }
  }

  func directCount(_ link: Link) -> Int {
    direct(link)?.count ?? directList(link)?.count ?? -1
  }

  func hasDirect(_ link: Link, _ other: MemberNode) -> Bool {
    direct(link)?.contains(other) ?? directList(link)?.contains(other) ?? false
  }

  func addDirect(_ link: Link, _ other: MemberNode) -> Bool {
    direct(link)?.insert(other) ?? directList(link)?.append(other) ?? false
  }

  func removeDirect(_ link: Link, _ other: MemberNode) -> Bool {
    direct(link)?.remove(other) ?? directList(link)?.remove(other) ?? false
  }

  func toggleDirect(_ link: Link, _ other: MemberNode) {
    let wasPresent = hasDirect(link, other)
    #expect(wasPresent ? removeDirect(link, other) : addDirect(link, other))
    #expect(!(wasPresent ? removeDirect(link, other) : addDirect(link, other)))
  }
}

/// One of two stores that undergo the same changes.
///
/// One store is changed through `Members`, and the other store through the loaded sets.
private final class MemberGraph {
  let isDirect: Bool
  let container: PersistentContainer
  var contexts: [ManagedObjectContext] = []
  var child: ManagedObjectContext?

  init(isDirect: Bool, nodeCount: Int) throws {
    self.isDirect = isDirect
    container = try PersistentContainer.inMemory(schema: Schema(MemberNode.self))
    for place in 0..<2 {
      let context = container.newContext()
      context.mergePolicy = .mergeByPropertyObjectTrump
      context.tracksUndo = place == 0
      contexts.append(context)
    }
    for id in 0..<nodeCount { MemberNode(context: contexts[0]).id = id }
    try contexts[0].save()
    contexts[1].refreshAllObjects()
  }

  func node(_ id: Int, _ context: ManagedObjectContext) throws -> MemberNode? {
    try context.fetch(FetchRequest<MemberNode>(where: #Predicate { $0.id == id })).first
  }

  /// Performs a step, and returns a description of the visible content after it.
  func perform(_ step: MemberStep) throws -> String {
    let place = contexts[step.place]
    switch step.operation {
    case .toggle:
      let context = step.isInChild ? newChild() : place
      guard let node = try node(step.first, context),
        let other = try self.node(step.second, context)
      else { return "no node" }
      if isDirect {
        node.toggleDirect(step.link, other)
      } else {
        node.toggleLoaded(step.link, other)
      }
      if step.isInChild { try context.save() }
    case .delete: try node(step.first, place).map { place.delete($0) }
    case .insert:
      if try node(step.first, place) == nil { MemberNode(context: place).id = step.first }
    case .save:
      do { try place.save() } catch let error as ObjectGraphError {
        place.rollback()
        return "\(error.kind)"
      }
      // A set shows the generation from which it was loaded, so reload all sets.
      for context in contexts { context.refreshAllObjects() }
    case .rollback: place.rollback()
    case .undo: if place.canUndo { place.undo() }
    case .redo: if place.canRedo { place.redo() }
    case .refresh: place.refreshAllObjects()
    case .forget: if !place.hasChanges { place.reset() }
    case .pin:
      try place.setQueryGenerationFrom(step.isInChild ? .current : nil)
      place.refreshAllObjects()
    }
    return ""
  }

  private func newChild() -> ManagedObjectContext {
    let child = ManagedObjectContext(parent: contexts[0])
    self.child = child
    return child
  }

  func shown(_ step: MemberStep) throws -> [Int] {
    let context = contexts[step.place]
    guard let node = try node(step.first, context) else { return [-1] }
    let other = try self.node(step.second, context)
    if isDirect {
      return [
        node.directCount(step.link), other.map { node.hasDirect(step.link, $0) ? 1 : 0 } ?? -1,
      ]
    }
    let members = node.loaded(step.link)
    return [members.count, other.map { members.contains($0) ? 1 : 0 } ?? -1]
  }

  func content(_ context: ManagedObjectContext) throws -> [[Int]] {
    try context.fetch(FetchRequest<MemberNode>(sort: [SortDescriptor(\.id)])).flatMap { node in
      MemberNode.Link.allCases.map { [node.id] + node.loaded($0).map(\.id) }
    }
  }
}

private struct MemberStep {
  enum Operation: CaseIterable {
    case toggle, delete, insert, save, rollback, undo, redo, refresh, forget, pin
  }

  let operation: Operation
  let place: Int
  let first: Int
  let second: Int
  let link: MemberNode.Link
  let isInChild: Bool

  init(_ generator: inout SeededGenerator, nodeCount: Int) {
    let isToggle = generator.isTrue(in256: 150)
    operation =
      isToggle ? .toggle : Operation.allCases[generator.below(Operation.allCases.count)]
    place = generator.below(2)
    first = generator.below(nodeCount)
    second = generator.below(nodeCount)
    link = MemberNode.Link.allCases[generator.below(MemberNode.Link.allCases.count)]
    isInChild = place == 0 && generator.isTrue(in256: 30)
  }
}

@Suite("Members that are not loaded")
struct MembersTests {
  @Test(.evidence("R-19"), arguments: TestScale.seeds(quick: 6, all: 100, long: 300))
  func `are changed, counted and found like loaded members`(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    let nodeCount = 6
    let direct = try MemberGraph(isDirect: true, nodeCount: nodeCount)
    let loaded = try MemberGraph(isDirect: false, nodeCount: nodeCount)
    for number in 0..<120 {
      let step = MemberStep(&generator, nodeCount: nodeCount)
      let look = MemberStep(&generator, nodeCount: nodeCount)
      let results = try (direct.perform(step), loaded.perform(step))
      try #require(results.0 == results.1, "seed \(seed), step \(number): \(step)")
      let shown = try (direct.shown(look), loaded.shown(look))
      try #require(shown.0 == shown.1, "seed \(seed), step \(number): \(step), then \(look)")
      guard number % 10 == 9 else { continue }
      for place in 0..<2 {
        let content = try (
          direct.content(direct.contexts[place]), loaded.content(loaded.contexts[place])
        )
        try #require(content.0 == content.1, "seed \(seed), step \(number): \(step)")
      }
    }
  }

  @Test(.evidence("R-19"), arguments: [false, true])
  func `are saved in the order in which they were added from either side`(
    isOneToMany: Bool
  ) throws {
    let graph = try MemberGraph(isDirect: true, nodeCount: 4)
    let context = graph.contexts[0]
    context.reset()
    let nodes = try (0..<4).map { try #require(try graph.node($0, context)) }
    // The save writes this node before the other node.
    nodes[3].$friends.insert(nodes[0])
    if isOneToMany {
      nodes[0].$queue.append(nodes[2])
      nodes[3].lane = nodes[0]
      nodes[0].$queue.append(nodes[1])
    } else {
      nodes[0].$tracks.append(nodes[2])
      nodes[3].$albums.insert(nodes[0])
      nodes[0].$tracks.append(nodes[1])
    }
    try context.save()
    context.refreshAllObjects()
    #expect(nodes[0].loaded(isOneToMany ? .queue : .tracks).map(\.id) == [2, 3, 1])
  }

  @Test func `stay unloaded`() throws {
    let container = try PersistentContainer.inMemory(schema: Schema(MemberNode.self))
    let context = container.newContext()
    let hub = MemberNode(context: context)
    for id in 1...50 {
      let node = MemberNode(context: context)
      node.id = id
      hub.$friends.insert(node)
    }
    try context.save()
    let other = container.newContext()
    let request = FetchRequest<MemberNode>(where: #Predicate { $0.id == 0 || $0.id == 50 })
    let nodes = try other.fetch(request)
    let (again, last) = (try #require(nodes.first), try #require(nodes.last))
    #expect(again.$friends.count == 50)
    #expect(again.$friends.contains(last))
    let new = MemberNode()
    new.id = 51
    #expect(again.$friends.insert(new))
    #expect(again.$friends.remove(last))
    #expect(again.$friends.count == 50)
    #expect(other.registeredObjects.count == 3)
    #expect(new.friends == [again])
    try other.save()
    context.refreshAllObjects()
    #expect(Set(hub.friends.map(\.id)) == Set(1...51).subtracting([50]))
  }

  @Test func `of an object in no context are kept until it is inserted`() throws {
    let container = try PersistentContainer.inMemory(schema: Schema(MemberNode.self))
    let context = container.newContext()
    let (first, second) = (MemberNode(), MemberNode())
    second.id = 1
    #expect(first.$likes.insert(second))
    #expect(!first.$likes.insert(second))
    #expect(first.$likes.count == 1)
    context.insert(first)
    #expect(second.likedBy == [first])
    let third = MemberNode()
    third.id = 2
    #expect(third.$likes.insert(first))
    #expect(third.managedObjectContext === context)
    try context.save()
    #expect(first.$likedBy.count == 1)
    let list = MemberNode()
    #expect(list.$steps.append(first))
    #expect(list.managedObjectContext === context)
    let (fourth, fifth) = (MemberNode(), MemberNode())
    #expect(fourth.$steps.append(fifth))
    #expect(!fourth.$steps.append(fifth))
    #expect(fourth.$steps.contains(fifth))
    #expect(fourth.$steps.remove(fifth))
    #expect(!fourth.$steps.remove(fifth))
    #expect(fourth.$steps.isEmpty)
  }

  @Test(.evidence("R-19"), .evidence("C-07"))
  func `that others have added too can be removed again`() throws {
    let fixture = try GraphFixture()
    let id = try fixture.person("Ada")
    let club = try fixture.saved { Club(context: $0) }.objectID
    let context = fixture.context()
    context.mergePolicy = .mergeByPropertyObjectTrump
    let (ada, own): (Person, Club) = (context.object(with: id), context.object(with: club))
    #expect(ada.$clubs.insert(own))
    try fixture.saved { other in
      other.object(Person.self, with: id).clubs = [other.object(with: club)]
    }
    #expect(ada.$clubs.remove(own))
    try context.save()
    #expect(try fixture.stored { $0.object(Person.self, with: id).clubs.isEmpty })
  }

  @Test func `of lists stay unloaded`() throws {
    let container = try PersistentContainer.inMemory(schema: Schema(MemberNode.self))
    let context = container.newContext()
    let hub = MemberNode(context: context)
    for id in 1...50 {
      let node = MemberNode(context: context)
      node.id = id
      for list in [hub.$queue, hub.$steps, hub.$tracks, hub.$afters] { list.append(node) }
    }
    try context.save()
    let other = container.newContext()
    let request = FetchRequest<MemberNode>(where: #Predicate { $0.id == 0 || $0.id == 25 })
    let nodes = try other.fetch(request)
    let (again, middle) = (try #require(nodes.first), try #require(nodes.last))
    let new = MemberNode(context: other)
    new.id = 51
    for list in [again.$queue, again.$steps, again.$tracks, again.$afters] {
      #expect(list.count == 50)
      #expect(list.contains(middle))
      #expect(list.append(new))
      #expect(list.remove(middle))
      #expect(list.count == 50)
    }
    #expect(other.registeredObjects.count == 3)
    #expect(new.lane == again)
    try other.save()
    context.refreshAllObjects()
    let expected = Array(1...24) + Array(26...51)
    for list in [hub.queue, hub.steps, hub.tracks, hub.afters] {
      #expect(list.map(\.id) == expected)
    }
  }

  @Test func `an object of another context is not a member`() throws {
    let fixture = try GraphFixture(Schema(MemberNode.self))
    let (context, other) = (fixture.context(), fixture.context())
    let (node, friend) = (MemberNode(context: context), MemberNode(context: context))
    friend.id = 1
    node.friends = [friend]
    try context.save()
    let theirs = try #require(try other.existingObject(MemberNode.self, with: friend.objectID))
    #expect(node.$friends.contains(friend) && !node.$friends.contains(theirs))
  }
}
