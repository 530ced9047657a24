import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

/// Changes nodes with all kinds of relationships in the innermost child and in the root context.
///
/// No other context changes the store, so no save may be in conflict.
private final class FamilyRun {
  private let fixture: GraphFixture
  private let chain: ContextChain
  /// The nodes of the child, which it reads only once.
  private var nodes: [MemberNode]
  private var random: SeededGenerator
  private var lastID = 7

  init(depth: Int, seed: UInt64) throws {
    fixture = try GraphFixture(Schema(MemberNode.self))
    random = SeededGenerator(seed: seed)
    try fixture.saved { context in
      for id in 0...7 { MemberNode(context: context).id = id }
    }
    chain = fixture.chain(depth: depth)
    nodes = try Self.nodes(chain.child)
    for node in nodes { _ = node.parent }
  }

  private static func nodes(_ context: ManagedObjectContext) throws -> [MemberNode] {
    try context.fetch(FetchRequest<MemberNode>(sort: [SortDescriptor(\.id)]))
  }

  func run(steps: Int) throws {
    for _ in 0..<steps {
      switch random.below(16) {
      case 0..<8: toggle(one(), one())
      case 8:
        lastID += 1
        let node = MemberNode(context: chain.child)
        node.id = lastID
        nodes.append(node)
      case 9 where nodes.count > 4: delete(one())
      case 10, 11: try changeRoot()
      case 12: chain.root.refreshAllObjects()
      default: try chain.save()
      }
    }
    try chain.save()
    for context in chain.contexts { context.refreshAllObjects() }
    let shown = try content(chain.child)
    let stored = try fixture.stored { try content($0) }
    guard shown == stored else { throw GraphMismatch("\(shown) instead of \(stored)") }
  }

  private func one() -> MemberNode { nodes[random.below(nodes.count)] }

  private func toggle(_ node: MemberNode, _ other: MemberNode) {
    let link = MemberNode.Link.allCases[random.below(MemberNode.Link.allCases.count)]
    if node !== other { node.toggleLoaded(link, other) }
  }

  private func delete(_ node: MemberNode) {
    chain.child.delete(node)
    nodes.removeAll { $0 === node }
  }

  /// Changes the root's objects for two nodes, and may save the root context.
  private func changeRoot() throws {
    let (root, ids) = (chain.root, [one().objectID, one().objectID])
    let found = try ids.compactMap { try root.existingObject(MemberNode.self, with: $0) }
    if found.count == 2 { toggle(found[0], found[1]) }
    if random.isTrue(in256: 128) { try root.save() }
  }

  private func content(_ context: ManagedObjectContext) throws -> [[Int]] {
    try Self.nodes(context).flatMap { node in
      MemberNode.Link.allCases.map { [node.id] + node.loaded($0).map(\.id) }
    }
  }
}

@Suite("Versions of rows in child contexts")
struct NestedVersionTests {
  @Test(
    .evidence("N-02"), .evidence("N-05"), arguments: [1, 2], TestScale.seeds(quick: 2, all: 20))
  func `random saves of a context and its child are never in conflict`(
    depth: Int, seed: UInt64
  ) throws {
    do {
      try FamilyRun(depth: depth, seed: seed).run(steps: 200)
    } catch {
      Issue.record("depth \(depth), seed \(seed): \(error)")
    }
  }
}
