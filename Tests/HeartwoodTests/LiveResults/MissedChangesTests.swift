import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

/// A class whose objects change another object whenever they are loaded.
private final class CountedNote: ManagedObject {
  @Attribute var rank: Int = 0
  @ToOne var counter: CountedNote?

  override func awakeFromFetch() { counter?.rank += 2 }
}

@Suite("Changes that a live list could miss")
struct MissedChangesTests {
  private let fixture: GraphFixture
  private let context: ManagedObjectContext
  private let ids: [ManagedObjectID]

  init() throws {
    fixture = try GraphFixture(songs)
    ids = try fixture.songs([10, 20, 30])
    context = fixture.context()
  }

  private func song(_ index: Int) throws -> Song {
    try #require(try context.existingObject(Song.self, with: ids[index]))
  }

  /// Requests whose lists are updated in different ways.
  private let requests: [FetchRequest<Song>] = [
    FetchRequest(sort: [SortDescriptor(\.rank)]),
    FetchRequest(sort: [SortDescriptor(\.rank)], limit: 2),
    FetchRequest(sort: [SortDescriptor(\.title, comparator: .lexical)]),
    FetchRequest(where: #Predicate { $0.album == nil || $0.album?.name == "a" }),
  ]

  @Test(.evidence("LR-01"), .evidence("LR-06"), arguments: 0..<4, [false, true])
  func `creating a list while other lists are updated hides no changes from them`(
    kind: Int, isChild: Bool
  ) throws {
    let request = requests[kind]
    let target = isChild ? fixture.child(of: context) : context
    let first = try FollowedResults(request, target)
    var lists = [first, try FollowedResults(requests[0], target)]
    let follow = first.controller.changeHandler
    var result: Result<Void, any Error>?
    defer { first.controller.changeHandler = nil }
    first.controller.changeHandler = { change in
      follow?(change)
      guard result == nil else { return }
      result = Result {
        try fixture.songs([5])
        lists.append(try FollowedResults(requests[(kind + 1) % 4], target))
        lists.append(try FollowedResults(request, target))
      }
    }
    try fixture.songs([1])
    _ = first.controller.count
    try #require(result).get()
    func check() throws {
      for list in lists {
        #expect(try list.check().ids == target.fetchObjectIDs(list.controller.fetchRequest))
      }
    }
    try check()
    try fixture.songs([7])
    try fixture.changeSong(ids[0]) { $0.rank = 2 }
    try check()
  }

  @Test(.evidence("LR-01"), .evidence("LR-06"), arguments: 0..<4, [false, true])
  func `a list sorted with a comparator is updated when a related object's sort value changes`(
    kind: Int, isByOthers: Bool
  ) throws {
    var albums: [ManagedObjectID] = []
    try fixture.saved { other in
      for (position, id) in ids.enumerated() {
        let song = try #require(try other.existingObject(Song.self, with: id))
        let album = Album(context: other)
        song.title = "same"
        album.name = String(repeating: "x", count: position + 1)
        song.album = album
        try other.obtainPermanentIDs(for: [album])
        albums.append(album.objectID)
      }
    }
    let title = SortDescriptor(\Song.title, comparator: .lexical)
    let request = FetchRequest<Song>(
      sort: kind == 0
        ? [title, SortDescriptor(\.album?.name)]
        : kind == 1
          ? [title, SortDescriptor(\.album?.name.count)]
          : kind == 2 ? [SortDescriptor(\.sortName), title] : [title])
    let section: PartialKeyPath<Song>? = kind == 3 ? \.album?.name : nil
    let live = try FollowedResults(request, context, sectionedBy: section)
    #expect(live.check().ids == ids)
    if isByOthers {
      try fixture.saved { other in
        try #require(try other.existingObject(Album.self, with: albums[0])).name = "xxxxx"
      }
    } else {
      try #require(try context.existingObject(Album.self, with: albums[0])).name = "xxxxx"
    }
    #expect(live.check().ids == [ids[1], ids[2], ids[0]])
    if kind < 3 { #expect(try live.ids == context.fetchObjectIDs(request)) }
  }

  @Test(.evidence("LR-01"), .evidence("FO-09"), arguments: [false, true])
  func `a list that begins after an unsaved object stays the same when the object is saved`(
    isReversed: Bool
  ) throws {
    let new = (0..<3).map { _ in Song(context: context) }
    let request = try FetchRequest<Song>(
      sort: [SortDescriptor(\.rank, order: isReversed ? .reverse : .forward)]
    ).after(new[1])
    let live = try FollowedResults(request, context)
    func check() throws {
      let next = isReversed ? [new[0].objectID] : [new[2].objectID] + ids
      #expect(live.check().ids == next)
      #expect(try context.fetchObjectIDs(request) == next)
    }
    try check()
    try context.save()
    try check()
    new[1].rank = 15
    new[0].title = "changed"
    new[2].title = "changed"
    #expect(try live.check().ids == context.fetchObjectIDs(request))
  }

  @Test(.evidence("LR-01"), .evidence("LR-06"))
  func `a list shows changes made by objects while it rereads them`() throws {
    let fixture = try GraphFixture(Schema(CountedNote.self))
    let ids = try fixture.saved { context in
      let notes = [0, 3, 10].map { rank in
        let note = CountedNote(context: context)
        note.rank = rank
        return note
      }
      notes[2].counter = notes[0]
      return notes
    }.map(\.objectID)
    let context = fixture.context()
    let request = FetchRequest<CountedNote>(sort: [SortDescriptor(\.rank)])
    let live = try FollowedResults(request, context)
    let notes = try context.fetch(request)
    #expect(live.check().ids == ids && notes.map(\.rank) == [2, 3, 10])
    try fixture.context().execute(
      BatchUpdateRequest<CountedNote>(where: #Predicate { $0.rank == 10 }) { $0[\.rank] = 11 })
    #expect(live.check().ids == [ids[1], ids[0], ids[2]] && notes.map(\.rank) == [4, 3, 11])
    #expect(try context.fetchObjectIDs(request) == live.ids)
  }

  /// If there are many lists, each object is checked only against those that its value may match.
  @Test(.evidence("LR-01"), .evidence("FO-09"), arguments: [0, 12])
  func `one of many lists contains the objects whose sort value is NaN`(otherCount: Int) throws {
    let fixture = try GraphFixture(towns)
    let ids = try fixture.saved { context in
      [1, 2].map { height in
        let house = House(context: context)
        house.height = height
        return house
      }
    }.map(\.objectID)
    let context = fixture.context()
    let first = try #require(try context.existingObject(House.self, with: ids[0]))
    let request = try FetchRequest<House>(sort: [SortDescriptor(\.height)]).after(first)
    let live = try FollowedResults(request, context)
    let others = try (0..<otherCount).map { rooms in
      try FollowedResults(FetchRequest<House>(where: #Predicate { $0.rooms == rooms }), context)
    }
    let new = try fixture.saved { other in
      let house = House(context: other)
      house.height = .nan
      return house
    }
    #expect(live.check().ids == [ids[1], new.objectID])
    #expect(try context.fetchObjectIDs(request) == live.ids)
    #expect(others.allSatisfy { $0.ids.count == ($0 === others[0] ? 3 : 0) })
  }

  @Test(
    .evidence("LR-01"), .evidence("LR-06"), .evidence("QG-27"), arguments: [0, 12], [false, true])
  func `lists show no relationship to an object that their context has deleted`(
    otherCount: Int, mergesAutomatically: Bool
  ) throws {
    let fixture = try GraphFixture(crates)
    let (context, others) = (fixture.context(), fixture.context())
    context.automaticallyMergesChangesFromParent = mergesAutomatically
    let (crate, item, tag) = (
      Crate(context: others), CrateItem(context: others), CrateTag(context: others)
    )
    try others.save()
    let own = try #require(try context.existingObject(Crate.self, with: crate.objectID))
    var lists: [FollowedResults<CrateItem>] = []
    func follow(_ request: FetchRequest<CrateItem>) throws {
      lists.append(try FollowedResults(request, context))
    }
    let loose = FetchRequest<CrateItem>(where: #Predicate { $0.crate == nil })
    try follow(loose)
    try follow(FetchRequest(where: #Predicate { $0.crate != nil }))
    try follow(FetchRequest(sort: [SortDescriptor(\.crate?.number), SortDescriptor(\.number)]))
    var stored = loose
    stored.includesPendingChanges = false
    try follow(stored)
    // If there are many lists, each object is checked only against some of them.
    for number in 0..<otherCount {
      try follow(FetchRequest(where: #Predicate { $0.number == number }))
    }
    let tags = try FollowedResults(
      FetchRequest<CrateTag>(where: #Predicate { $0.crates.isEmpty }), context)
    func check() throws {
      for list in lists {
        #expect(try list.check().ids == context.fetchObjectIDs(list.controller.fetchRequest))
      }
      #expect(try tags.check().ids == context.fetchObjectIDs(tags.controller.fetchRequest))
    }
    context.delete(own)
    try check()
    item.crate = crate
    crate.tags = [tag]
    try others.save()
    try check()
    #expect(lists[0].ids == [item.objectID] && lists[1].ids == [] && lists[3].ids == [])
    // A list that is created now shows the same objects.
    try follow(loose)
    item.number = 1
    try others.save()
    try check()
    context.rollback()
    try check()
    #expect(lists[0].ids == [] && lists[1].ids == [item.objectID] && tags.ids == [])
  }
}

extension Song {
  /// A computed property that reads another object.
  fileprivate var sortName: String { album.map { "album \($0.name)" } ?? title }
}
