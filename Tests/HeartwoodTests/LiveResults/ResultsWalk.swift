import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

/// Walks through live lists in every way.
///
/// Between any two steps, the body of the walk and other contexts change the lists.
final class ResultsWalk {
  /// The context of the lists.
  enum Setting: String, CaseIterable {
    case plain, merging, pinned, pinnedMerging, child, mergingChild
  }

  private struct Walked {
    let controller: FetchedResultsController<Song>
    /// The request that returns the listed objects in order.
    let request: FetchRequest<Song>
  }

  private let fixture: GraphFixture
  private let setting: Setting
  private let context: ManagedObjectContext
  private let root: ManagedObjectContext
  private let other: ManagedObjectContext
  private var random: SeededGenerator
  private var lists: [Walked] = []
  private(set) var visitCount = 0
  /// The number of visited objects that the live list no longer contained.
  private(set) var formerCount = 0

  private static let genres = [nil, "folk", "jazz"]

  init(_ setting: Setting, seed: UInt64) throws {
    fixture = try GraphFixture(songs)
    self.setting = setting
    random = SeededGenerator(seed: seed)
    (root, other) = (fixture.context(), fixture.context())
    let isChild = setting == .child || setting == .mergingChild
    context = isChild ? fixture.child(of: root) : root
    for context in [root, other] { context.mergePolicy = .overwrite }
    context.tracksUndo = true
    root.automaticallyMergesChangesFromParent =
      [.merging, .pinnedMerging, .mergingChild].contains(setting)
    if isChild { context.automaticallyMergesChangesFromParent = setting == .mergingChild }
    if setting == .pinned || setting == .pinnedMerging {
      try root.setQueryGenerationFrom(.current)
    }
    for _ in 0..<12 { insert(into: other) }
    try other.save()
    let byRank = [SortDescriptor(\Song.rank), SortDescriptor(\.title)]
    try add(FetchRequest(sort: byRank), sectionedBy: nil, before: [])
    try add(FetchRequest(sort: byRank, limit: 5, offset: 1), sectionedBy: nil, before: [])
    try add(
      FetchRequest(where: #Predicate { $0.rank > 15 }, sort: byRank), sectionedBy: \Song.genre,
      before: [SortDescriptor(\.genre)])
  }

  private func add(
    _ request: FetchRequest<Song>, sectionedBy: PartialKeyPath<Song>?,
    before: [SortDescriptor<Song>]
  ) throws {
    let controller = FetchedResultsController(
      fetchRequest: request, context: context, sectionedBy: sectionedBy)
    try controller.performFetch()
    var same = request
    same.sortDescriptors = before + request.sortDescriptors
    lists.append(Walked(controller: controller, request: same))
  }

  // MARK: Walks

  /// Performs walks, and checks the live lists after each of them.
  func run(walks: Int) throws {
    for number in 0..<walks {
      let way = number % 12
      for _ in 0..<4 { insert(into: other) }
      try other.save()
      let walked = lists[random.below(lists.count)]
      // Reading the IDs merges all commits, and no further commit is made before the walk begins.
      let ids = walked.controller.objectIDs
      let list = walked.controller.results
      let names = list.sections.map(\.name)
      let ranges = list.sections.map(\.range)
      let visited = try walk(way, walked.controller, list, ids)
      try require(visited == ids.count, "way \(way) visits \(visited) of \(ids.count)")
      try require(
        list.count == ids.count && list.sections.map(\.name) == names
          && list.sections.map(\.range) == ranges, "a list or its sections have changed")
      for (position, id) in list.objectIDs.enumerated() {
        let object = list[position]
        try require(object === context.registeredObject(for: ids[position]), "another object")
        try require(object.objectID == id, "\(object.objectID) instead of \(id)")
      }
      for walked in lists { try check(walked) }
    }
  }

  /// Walks through a list in one of twelve ways.
  ///
  /// - Returns: The number of visited objects.
  private func walk(
    _ way: Int, _ controller: FetchedResultsController<Song>, _ list: ResultsList<Song>,
    _ ids: [ManagedObjectID]
  ) throws -> Int {
    var count = 0
    func visit(_ object: Song, _ position: Int? = nil) throws {
      try self.visit(object, ids[position ?? count], controller)
      count += 1
    }
    let middle = random.below(ids.count + 1)
    switch way {
    case 0: for song in controller { try visit(song) }
    case 1: _ = try controller.map { try visit($0) }
    case 2: _ = try list.map { try visit($0) }
    case 3: for position in list.indices { try visit(list[position], position) }
    case 4:
      for song in list.reversed() { try visit(song, ids.count - 1 - count) }
    case 5:
      for song in list.prefix(middle) { try visit(song) }
      for song in list.suffix(ids.count - middle) { try visit(song) }
    case 6:
      for section in list.sections { for song in section { try visit(song) } }
    case 7:
      for (first, second) in zip(list, list.dropFirst()) {
        try require(first !== second, "an object twice")
        try visit(first)
      }
      if let last = list.last { try visit(last) }
    case 8: for song in controller.prefix(ids.count) { try visit(song) }
    case 9:
      // Conversion to an array loads all objects at once, so the list can change only before or
      // after it.
      let all = [Array(controller), Array(list), list.sections.flatMap(\.objects)]
      try require(Set(all).count == 1, "conversions differ")
      for (song, id) in zip(all[0], ids) {
        try require(song === context.registeredObject(for: id), "a conversion has another object")
      }
      try disturb(all[0].first)
      count = all[0].count
    case 10:
      var position = list.startIndex
      while position != list.endIndex {
        try visit(list[position])
        list.formIndex(after: &position)
      }
    default:
      for (offset, song) in list[middle...].enumerated() { try visit(song, middle + offset) }
      for (offset, song) in list[..<middle].enumerated() { try visit(song, offset) }
    }
    return count
  }

  /// Expects an object to be the context's object with the given ID, and then changes the lists.
  private func visit(
    _ object: Song, _ id: ManagedObjectID, _ controller: FetchedResultsController<Song>
  ) throws {
    visitCount += 1
    try require(object === context.registeredObject(for: id), "\(object.objectID) instead of \(id)")
    try require(object.managedObjectContext === context, "an object without its context")
    if random.isTrue(in256: 128) { _ = object.title }
    if random.isTrue(in256: 40), controller.index(of: object) == nil { formerCount += 1 }
    while random.isTrue(in256: 128) { try disturb(object) }
  }

  // MARK: Changes

  private func disturb(_ object: Song?) throws {
    switch random.below(20) {
    case 0...5: try workInOther()
    case 6: _ = lists.map(\.controller.count)
    case 7, 8: _ = try context.fetch(FetchRequest<Song>())
    case 9: insert(into: context)
    case 10: if let object, object.managedObjectContext != nil { context.delete(object) }
    case 11: if let object { edit(object) }
    case 12, 13: try context.save()
    case 14: try root.save()
    case 15: context.undo()
    case 16: context.redo()
    case 17: context.rollback()
    case 18: if random.isTrue(in256: 64) { context.reset() } else { context.refreshAllObjects() }
    default:
      if setting == .pinned || setting == .pinnedMerging {
        try root.setQueryGenerationFrom(.current)
      } else {
        context.processPendingChanges()
      }
    }
    context.endUndoGroup()
  }

  private func edit(_ object: Song) {
    // Read the object first. If it has no row in the pinned generation, it remains a fault, and a
    // fault has no values to edit.
    _ = object.rank
    guard !object.isFault else { return }
    object.rank = random.below(60)
    object.genre = Self.genres[random.below(3)]
  }

  private func insert(into context: ManagedObjectContext) {
    let song = Song(context: context)
    song.title = "song \(random.below(7))"
    song.rank = random.below(60)
    song.genre = Self.genres[random.below(3)]
  }

  /// Commits in another context, which sometimes deletes every song.
  private func workInOther() throws {
    other.refreshAllObjects()
    let all = try other.fetch(FetchRequest<Song>())
    let deletesAll = random.isTrue(in256: 16)
    for song in all where deletesAll || random.isTrue(in256: 40) {
      if deletesAll || random.isTrue(in256: 128) {
        other.delete(song)
      } else {
        song.rank = random.below(60)
      }
    }
    for _ in 0..<random.below(3) { insert(into: other) }
    try other.save()
  }

  // MARK: Checks

  private func check(_ walked: Walked) throws {
    let listed = walked.controller.fetchedObjects
    let found = try context.fetch(walked.request)
    try require(listed == found, "lists \(listed.count) objects instead of \(found.count)")
    try require(
      walked.controller.sections.flatMap(\.objects) == found, "the sections have other objects")
  }

  private func require(_ isRight: Bool, _ message: @autoclosure () -> String) throws {
    if !isRight { throw GraphMismatch("\(setting): \(message())") }
  }
}
