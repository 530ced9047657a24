import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

private final class FeedHolder: ManagedObject {
  @Attribute var name: String = ""
  @ToOne(deleteRule: .cascade) var detail: FeedPart?
  @ToOne(deleteRule: .deny) var guarded: FeedPart?
  @ToMany(inverse: \FeedPart.sharers, deleteRule: .cascade) var shared: Set<FeedPart>
  @OrderedToMany(inverse: \FeedPart.queues, deleteRule: .deny) var queue: [FeedPart]

  override class var entity: Entity { Entity("FeedHolder") { Unique(\FeedHolder.name) } }
}

private final class FeedPart: ManagedObject {
  @Attribute var name: String = ""
  @ToMany var sharers: Set<FeedHolder>
  @OrderedToMany var queues: [FeedHolder]
  @ToOne(deleteRule: .cascade) var next: FeedPart?
}

/// Feeds the deletion of a holder that has, or had, a part.
@Suite("A deletion in a feed")
struct FeedDeletionTests {
  /// The relationship between the holder and the part.
  enum Relation: CaseIterable {
    case detail, guarded, shared, queue

    var isDenying: Bool { self == .guarded || self == .queue }

    fileprivate func set(_ holder: FeedHolder, _ part: FeedPart?) {
      switch self {
      case .detail: holder.detail = part
      case .guarded: holder.guarded = part
      case .shared: holder.shared = Set([part].compactMap(\.self))
      case .queue: holder.queue = [part].compactMap(\.self)
      }
    }

    fileprivate func parts(_ holder: FeedHolder) -> [String] {
      switch self {
      case .detail: [holder.detail].compactMap { $0?.name }
      case .guarded: [holder.guarded].compactMap { $0?.name }
      case .shared: holder.shared.map(\.name).sorted()
      case .queue: holder.queue.map(\.name)
      }
    }
  }

  /// What happens to the part before its holder is deleted.
  enum Release: CaseIterable {
    case removed, removedInOwnSave, moved, movedInOwnSave

    var isMoved: Bool { self == .moved || self == .movedInOwnSave }
    var isInOwnSave: Bool { self == .removedInOwnSave || self == .movedInOwnSave }
  }

  private let source: GraphFixture
  private let copy: GraphFixture

  init() throws {
    let schema = Schema(FeedHolder.self, FeedPart.self)
    (source, copy) = (try GraphFixture(schema), try GraphFixture(schema))
  }

  private func holders(_ context: ManagedObjectContext) throws -> [FeedHolder] {
    try context.fetch(FetchRequest<FeedHolder>(sort: [SortDescriptor(\.name)]))
  }

  private func parts(_ fixture: GraphFixture) throws -> [String] {
    try fixture.context().fetch(FetchRequest<FeedPart>()).map(\.name).sorted()
  }

  /// Inserts the holders `a` and `b` and the part `p` of `a`, and feeds them to the copy.
  ///
  /// - Returns: The context of the holders and of the part, and a token for later changes.
  private func start(
    _ relation: Relation?
  ) async throws -> (ManagedObjectContext, PersistentHistoryToken) {
    let context = source.context()
    let (one, other) = (FeedHolder(context: context), FeedHolder(context: context))
    let part = FeedPart(context: context)
    (one.name, other.name, part.name) = ("a", "b", "p")
    relation?.set(one, part)
    try context.save()
    let events = try await source.container.changeFeed(from: .existingObjects)
      .all(of: source.container)
    try copy.container.apply(events: events.map { try $0.json() })
    return (context, try #require(try source.container.currentHistoryToken))
  }

  /// Feeds the changes after a token to the copy.
  private func apply(
    _ start: PersistentHistoryToken, _ policy: MergePolicy = .overwrite
  ) async throws {
    let events = try await source.container.changeFeed(from: .after(start))
      .all(of: source.container)
    try copy.container.apply(events: events.map { try $0.json() }, mergePolicy: policy)
  }

  private func delete(_ holder: FeedHolder) throws {
    let context = try #require(holder.managedObjectContext)
    context.delete(holder)
    try context.save()
  }

  @Test(.mustEnd, .evidence("CF-08"), arguments: Relation.allCases, Release.allCases)
  func `keeps an object that the source removed from the relationship`(
    relation: Relation, release: Release
  ) async throws {
    for policy in MergePolicy.Each.allCases.map(\.policy) {
      let test = try Self()
      let (context, token) = try await test.start(relation)
      let all = try test.holders(context)
      let part = try #require(try context.fetch(FetchRequest<FeedPart>()).first)
      relation.set(all[0], nil)
      if release.isMoved { relation.set(all[1], part) }
      if release.isInOwnSave { try context.save() }
      try test.delete(all[0])
      try await test.apply(token, policy)
      #expect(try test.parts(test.copy) == ["p"])
      let left = try test.holders(test.copy.context())
      #expect(left.map(\.name) == ["b"])
      #expect(left.map { relation.parts($0) } == [release.isMoved ? ["p"] : []])
    }
  }

  @Test(.mustEnd, .evidence("CF-08"), arguments: [Relation.detail, .shared])
  func `includes the objects that the source's rule deletes`(relation: Relation) async throws {
    let (context, token) = try await start(relation)
    try delete(try holders(context)[0])
    try await apply(token)
    #expect(try parts(copy) == [])
  }

  @Test(.mustEnd, .evidence("CF-08"), arguments: Relation.allCases)
  func `follows the rules for objects of the copy`(relation: Relation) async throws {
    let (context, token) = try await start(nil)
    let edited = copy.context()
    let own = FeedPart(context: edited)
    own.name = "own"
    own.next = try edited.fetch(FetchRequest<FeedPart>()).first { $0.name == "p" }
    #expect(own.next != nil)
    relation.set(try holders(edited)[0], own)
    try edited.save()
    try delete(try holders(context)[0])
    if relation.isDenying {
      let error = await #expect(throws: ObjectGraphError.self) { try await apply(token) }
      #expect(error?.kind == .deniedDelete)
      #expect(try parts(copy) == ["own", "p"])
    } else {
      try await apply(token)
      // The part from the source stays, because the source has not deleted it.
      #expect(try parts(copy) == ["p"])
    }
  }
}
