import Foundation
import Heartwood
import HeartwoodTestSupport
import Observation
import Testing

/// A class that shows other values than its row contains.
private final class ShownMessage: ManagedObject {
  @Attribute var title: String = ""
  @Attribute var mood: String? = nil

  override func awakeFromFetch() {
    title = title.lowercased()
    mood = nil
  }
}

@Suite("Observation")
struct ObservationTests {
  private let fixture: GraphFixture
  private let context: ManagedObjectContext
  private let ids: [ManagedObjectID]

  init() throws {
    fixture = try GraphFixture(songs)
    ids = try fixture.songs([10, 20])
    context = fixture.context()
    context.tracksObservation = true
  }

  private func song(_ index: Int = 0) throws -> Song {
    try #require(try context.existingObject(Song.self, with: ids[index]))
  }

  @Test(.evidence("OB-01")) func `setting a property to another value notifies its observers`()
    throws
  {
    let song = try song()
    let title = watch { song.title }
    let rank = watch { song.rank }
    song.title = "song 10"
    #expect(title() == 0)
    song.title = "other"
    #expect(title() == 1 && rank() == 0)
    song.title = "again"
    #expect(title() == 1)
    let new = Song(context: context)
    let loved = watch { new.isLoved }
    new.isLoved = true
    #expect(loved() == 1)
  }

  @Test(.evidence("OB-01"))
  func `changing a relationship from either side notifies observers of both sides`() throws {
    let song = try song()
    let album = Album(context: context)
    let other = Album(context: context)
    let owner = watch { song.album }
    let members = watch { album.songs }
    let others = watch { other.songs.count }
    song.album = album
    #expect(owner() == 1 && members() == 1 && others() == 0)
    other.songs = [song]
    #expect(others() == 1)
  }

  @Test(.evidence("OB-01"))
  func `counting or finding members without loading them observes the relationship`() throws {
    let song = try song()
    let album = Album(context: context)
    let isEmpty = watch { album.$songs.isEmpty }
    let contains = watch { album.$songs.contains(song) }
    song.album = album
    #expect(isEmpty() == 1 && contains() == 1)
    #expect(!album.$songs.isEmpty)
  }

  @Test(.evidence("OB-01")) func `objects of a store that is added later are observed`() throws {
    let stores = try StoresFixture(adds: false)
    let context = stores.context()
    context.tracksObservation = true
    try stores.addMemos()
    let memo = Memo(context: context)
    let text = watch { memo.text }
    memo.text = "a"
    #expect(text() == 1)
  }

  @Test(.evidence("OB-01"))
  func `rereading an object notifies observers only of values that differ`() throws {
    let (first, second) = (try song(0), try song(1))
    let (title, rank) = (watch { first.title }, watch { second.rank })
    try fixture.changeSong(ids[0]) { $0.title = "theirs" }
    #expect(title() == 0)
    context.refreshAllObjects()
    #expect(title() == 1 && rank() == 0)
    let again = watch { first.title }
    try fixture.changeSong(ids[0]) { $0.title = "theirs again" }
    let newest = try #require(try fixture.container.fetchHistory(after: nil).last)
    try context.mergeChanges(from: newest)
    #expect(again() == 1 && rank() == 0)
    first.title = "mine"
    let mine = watch { first.title }
    context.rollback()
    #expect(mine() == 1 && first.title == "theirs again")
    context.tracksUndo = true
    first.rank = 5
    let undone = watch { first.rank }
    context.undo()
    #expect(undone() == 1 && rank() == 0)
  }

  @Test(.evidence("OB-01"), .evidence("D-10"), .evidence("CH-01"), arguments: [true, false])
  func `rereading a derived attribute recomputed by another context notifies its observers`(
    merges: Bool
  ) async throws {
    let fixture = try GraphFixture(towns)
    let ids = try fixture.saved { context in
      let (town, house) = (Town(context: context), House(context: context))
      (town.name, house.rooms, house.town) = ("Rome", 1, town)
      return [town, house]
    }.map(\.objectID)
    let context = fixture.context()
    context.tracksObservation = true
    let town = try #require(try context.existingObject(Town.self, with: ids[0]))
    let (rooms, name) = (watch { town.rooms }, watch { town.name })
    var changes = context.changes.makeAsyncIterator()
    try fixture.saved { $0.object(House.self, with: ids[1]).rooms = 5 }
    if merges {
      let newest = try #require(try fixture.container.fetchHistory(after: nil).last)
      try context.mergeChanges(from: newest)
    } else {
      _ = try context.fetch(FetchRequest<Town>())
      context.processPendingChanges()
    }
    #expect(town.rooms == 5 && rooms() == 1 && name() == 0)
    #expect(await changes.next(isolation: nil)?.refreshed == [ids[0]])
  }

  /// The ways in which a context can discover members that others have added.
  enum Discovery: CaseIterable { case contestedSave, merge, refresh, fetch }

  @Test(.evidence("OB-01"), .evidence("C-07"), arguments: Discovery.allCases)
  func `members added by another context notify observers of the relationship`(
    discovery: Discovery
  ) throws {
    context.mergePolicy = .mergeByPropertyObjectTrump
    let albumID = try fixture.saved { Album(context: $0) }.objectID
    let album = try #require(try context.existingObject(Album.self, with: albumID))
    let song = try song()
    #expect(album.songs.isEmpty)
    try fixture.changeSong(ids[1]) { song in
      song.album = song.managedObjectContext?.object(Album.self, with: albumID)
    }
    if discovery == .contestedSave { song.album = album }
    context.processPendingChanges()
    let (members, name) = (watch { album.songs }, watch { album.name })
    let before = album.songs.count
    switch discovery {
    case .contestedSave: try context.save()
    case .merge:
      let newest = try #require(try fixture.container.fetchHistory(after: nil).last)
      try context.mergeChanges(from: newest)
    case .refresh: try context.refresh(album, mergeChanges: true)
    case .fetch: _ = try context.fetch(FetchRequest<Album>())
    }
    context.processPendingChanges()
    // A fetch may return the object without rereading its members (F-09).
    if discovery != .fetch { #expect(album.songs.count == before + 1) }
    #expect(members() == album.songs.count - before && name() == 0)
  }

  @Test(.evidence("OB-01"), arguments: [true, false], [true, false])
  func `each observer is notified of changes to the value that it has read`(
    rereads: Bool, returns: Bool
  ) throws {
    let song = try song()
    let first = watch { song.rank }
    try fixture.changeSong(ids[0]) { $0.rank = 11 }
    if rereads { try context.refresh(song, mergeChanges: false) }
    // The context has not processed the refresh yet.
    let second = watch { song.rank }
    #expect(song.rank == (rereads ? 11 : 10) && second() == 0)
    song.rank = returns ? 10 : 11
    context.processPendingChanges()
    let (mine, theirs) = (returns ? 10 : 11, rereads ? 11 : 10)
    #expect(second() == (mine == theirs ? 0 : 1))
    // The first observer may have been notified of a value that was shown only for a moment.
    if mine != 10 { #expect(first() == 1) }
    let last = watch { song.rank }
    song.rank = 12
    #expect(last() == 1)
  }

  @Test(.evidence("OB-01"), arguments: [true, false])
  func `observers of a fault's reference are notified when it is removed`(refreshes: Bool) throws {
    let id = try fixture.saved { context in
      let song = Song(context: context)
      song.album = Album(context: context)
      return song
    }.objectID
    let song: Song = context.object(with: id)
    if refreshes { #expect(song.album != nil) }
    if refreshes { try context.refresh(song, mergeChanges: false) }
    #expect(song.isFault)
    let album = watch { song.album }
    song.album = nil
    #expect(album() == 1)
  }

  @Test(.evidence("OB-01")) func `an object whose row is restored notifies its observers`() throws {
    let past = fixture.context()
    try past.setQueryGenerationFrom(.current)
    _ = try past.count(for: FetchRequest<Song>())
    let token = try #require(past.queryGenerationToken)
    let song = try song()
    try fixture.changeSong(ids[0]) { $0.managedObjectContext?.delete($0) }
    try context.refresh(song, mergeChanges: false)
    let rank = watch { song.rank }
    #expect(song.rank == 0 && song.isDeleted)
    try fixture.container.revert(to: token)
    #expect(try context.existingObject(Song.self, with: ids[0]) === song)
    context.processPendingChanges()
    #expect(song.rank == 10 && rank() == 1)
  }

  @Test(.evidence("OB-01"), .evidence("F-13"))
  func `observers are notified of values that differ from those set by awakeFromFetch`() throws {
    let fixture = try GraphFixture(Schema(ShownMessage.self))
    let id = try fixture.saved { context in
      let message = ShownMessage(context: context)
      (message.title, message.mood) = ("LOUD", "glad")
      return message
    }.objectID
    let context = fixture.context()
    context.tracksObservation = true
    let message = try #require(try context.existingObject(ShownMessage.self, with: id))
    let (title, mood) = (watch { message.title }, watch { message.mood })
    #expect(message.title == "loud" && message.mood == nil)
    // The row contains these values.
    message.title = "LOUD"
    message.mood = "glad"
    #expect(title() == 1 && mood() == 1)
    let again = (watch { message.title }, watch { message.mood })
    try context.refresh(message, mergeChanges: false)
    context.processPendingChanges()
    #expect(message.title == "loud" && message.mood == nil)
    #expect(again.0() == 1 && again.1() == 1)
    let none = (watch { message.title }, watch { message.mood })
    try fixture.saved { $0.object(ShownMessage.self, with: id).mood = "sad" }
    context.refreshAllObjects()
    context.processPendingChanges()
    #expect(message.title == "loud" && message.mood == nil)
    #expect(none.0() == 0 && none.1() == 0)
  }

  @Test(.evidence("OB-02"))
  func `observers of a context are notified of its inserted, updated and deleted objects`() throws {
    let song = try song()
    let (any, new) = (watch { context.hasChanges }, watch { context.insertedObjects })
    let (updated, deleted) = (watch { context.updatedObjects }, watch { context.deletedObjects })
    song.rank = 3
    #expect(any() == 1 && new() == 0 && updated() == 1 && deleted() == 0)
    let still = watch { context.hasChanges }
    _ = Song(context: context)
    #expect(new() == 1 && still() == 0)
    try context.save()
    #expect(still() == 1 && !context.hasChanges)
  }

  @Test(.evidence("OB-02"), .evidence("C-05"), arguments: [true, false])
  func `reversing an edit notifies observers that the context has no changes`(
    isRelationship: Bool
  ) throws {
    let (song, album) = (try song(), Album(context: context))
    try context.save()
    func edit(_ isEdited: Bool) {
      if isRelationship {
        song.album = isEdited ? album : nil
      } else {
        song.rank = isEdited ? 3 : 10
      }
    }
    for _ in 0..<3 {
      edit(true)
      let (any, updated) = (watch { context.hasChanges }, watch { context.updatedObjects })
      #expect(context.updatedObjects.contains(song))
      edit(false)
      context.processPendingChanges()
      #expect(any() == 1 && updated() == 1 && !context.hasChanges)
      // Edits that change nothing are discarded when the observer reads the property.
      edit(true)
      edit(false)
      let none = (watch { context.hasChanges }, watch { context.updatedObjects })
      #expect(none.0() == 0 && none.1() == 0)
      edit(true)
      context.processPendingChanges()
      #expect(none.0() == 1 && none.1() == 1 && context.hasChanges)
      edit(false)
    }
  }

  /// The save recomputes derived attributes, so each object may have changed.
  @Test(.evidence("OB-01"), .evidence("D-10"))
  func `the first save of an object does not notify observers of relationships to it`() throws {
    let fixture = try GraphFixture(towns)
    let houseID = try fixture.saved { House(context: $0) }.objectID
    let context = fixture.context()
    context.tracksObservation = true
    let old = try #require(try context.existingObject(House.self, with: houseID))
    let (town, new) = (Town(context: context), House(context: context))
    town.name = "Rome"
    (old.town, new.town) = (town, town)
    let reference = watch { old.town }
    let members = watch { town.houses }
    try context.save()
    #expect(!town.objectID.isTemporary && town.houses == [old, new])
    #expect(reference() == 0 && members() == 0)
    old.town = nil
    #expect(reference() == 1 && members() == 1)
  }

  @Test(.mustEnd, .evidence("OB-02")) @MainActor
  func `an object that is found to be missing notifies observers of deletedObjects`() async throws {
    let view = fixture.container.viewContext
    view.tracksObservation = true
    try fixture.changeSong(ids[0]) { $0.managedObjectContext?.delete($0) }
    let gone: Song = view.object(with: ids[0])
    await withCheckedContinuation { continuation in
      withObservationTracking {
        _ = view.deletedObjects
        // The observer itself reads the missing object.
        _ = gone.rank
      } onChange: {
        continuation.resume()
      }
    }
    #expect(view.deletedObjects == [gone])
  }

  @Test(.evidence("OB-02"), .evidence("I-01"))
  func `an object that others have deleted is no change for observers`() throws {
    let (gone, song) = (try song(0), try song(1))
    try fixture.changeSong(ids[0]) { $0.managedObjectContext?.delete($0) }
    try context.refresh(gone, mergeChanges: false)
    #expect(gone.rank == 0 && context.deletedObjects == [gone])
    let any = watch { context.hasChanges }
    #expect(!context.hasChanges)
    song.rank = 3
    context.processPendingChanges()
    #expect(any() == 1 && context.hasChanges)
  }

  @Test(.evidence("OB-04"))
  func `observation applies only to contexts that enable it, and ends when disabled`() throws {
    let other = fixture.context()
    let theirs = try #require(try other.existingObject(Song.self, with: ids[0]))
    let none = watch { theirs.title }
    theirs.title = "other"
    #expect(none() == 0 && !other.tracksObservation)
    let song = try song()
    context.tracksObservation = false
    let late = watch { song.title }
    song.title = "mine"
    #expect(late() == 0 && song.title == "mine")
    context.tracksObservation = true
    let again = watch { song.title }
    song.title = "ours"
    #expect(again() == 1)
    // After an object is deleted, its last values can still be read.
    context.delete(song)
    try context.save()
    #expect(song.title == "ours")
  }

  @Test(.evidence("OB-01")) func `observers of a new object are notified after its save`() throws {
    let song = Song(context: context)
    let title = watch { song.title }
    try context.save()
    #expect(title() == 0)
    song.title = "other"
    #expect(title() == 1)
  }
}
