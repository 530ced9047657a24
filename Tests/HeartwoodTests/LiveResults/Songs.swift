import Foundation
import Heartwood
import Testing

final class Album: ManagedObject {
  @Attribute var name: String = ""
  @ToMany(inverse: \Song.album, deleteRule: .nullify) var songs: Set<Song>
}

class Song: ManagedObject {
  @Attribute var title: String = ""
  @Attribute var genre: String? = nil
  @Attribute var rank: Int = 0
  @Attribute var isLoved: Bool = false
  @ToOne var album: Album?

  override class var entity: Entity {
    Entity("Song") { Index(\Song.rank) }
  }
}

final class Recording: Song {
  @Attribute var place: String = ""
}

let songs = Schema(Album.self, Song.self, Recording.self)

extension GraphFixture {
  @discardableResult
  func songs(_ ranks: [Int], genre: String? = nil) throws -> [ManagedObjectID] {
    let context = context()
    let made = ranks.map { rank in
      let song = Song(context: context)
      song.title = "song \(rank)"
      song.rank = rank
      song.genre = genre
      return song
    }
    try context.save()
    return made.map(\.objectID)
  }

  func changeSong(_ id: ManagedObjectID, _ body: (Song) -> Void) throws {
    let context = context()
    body(try #require(try context.existingObject(Song.self, with: id)))
    try context.save()
  }
}

/// A controller, and a copy of its list that is updated only by the reported changes.
final class FollowedResults<M: ManagedObject> {
  let controller: FetchedResultsController<M>
  /// The IDs of the listed objects after the last reported change.
  private(set) var ids: [ManagedObjectID] = []
  private(set) var names: [String?] = []
  private(set) var changes: [ResultsChange] = []

  init(
    _ request: FetchRequest<M>, _ context: ManagedObjectContext,
    sectionedBy: PartialKeyPath<M>? = nil
  ) throws {
    controller = FetchedResultsController(
      fetchRequest: request, context: context, sectionedBy: sectionedBy)
    try controller.performFetch()
    ids = controller.objectIDs
    names = controller.sections.map(\.name)
    controller.changeHandler = { [unowned self] in follow($0) }
  }

  private func follow(_ change: ResultsChange) {
    changes.append(change)
    #expect(!change.difference.isEmpty || !change.updated.isEmpty, "an event without a change")
    let after = ids.applying(change.difference)
    #expect(after != nil, "a difference that does not fit")
    ids = after ?? []
    let others = names.applying(change.sectionDifference)
    #expect(others != nil, "a difference of sections that does not fit")
    names = others ?? []
    let present = Set(ids)
    #expect(change.updated.allSatisfy { present.contains($0) })
    for case .insert(_, let id, let source) in change.difference where source == nil {
      #expect(!change.updated.contains(id))
    }
  }

  /// Returns the changes reported since the previous call.
  func news() -> [ResultsChange] {
    defer { changes = [] }
    return changes
  }

  /// Expects the controller's list to equal the copy.
  @discardableResult
  func check(_ comment: String = "", sourceLocation: SourceLocation = #_sourceLocation) -> Self {
    let shown = controller.objectIDs
    #expect(shown == ids, "\(comment): the copy", sourceLocation: sourceLocation)
    #expect(
      controller.fetchedObjects.map(\.objectID) == shown, "\(comment): the objects",
      sourceLocation: sourceLocation)
    if controller.sectionKeyPath != nil {
      #expect(
        controller.sections.map(\.name) == names, "\(comment): the names of sections",
        sourceLocation: sourceLocation)
    }
    #expect(controller.count == shown.count)
    return self
  }
}
