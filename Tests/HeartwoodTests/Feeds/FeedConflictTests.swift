import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

class Marker: ManagedObject {
  @Attribute var name: String = ""
  @Attribute var number: Int? = nil
  /// A relationship without an inverse.
  @ToOne var parent: Marker?

  override class var entity: Entity {
    Entity("Marker") {
      Unique(\Marker.name)
      Unique(\Marker.number)
    }
  }
}

final class SpecialMarker: Marker {}

final class Pointer: ManagedObject {
  @Attribute var text: String = ""
  /// A relationship without an inverse.
  @ToOne var label: Marker?
  /// Another relationship without an inverse.
  @ToOne(deleteRule: .cascade) var owned: Marker?
}

private let labels = Schema(Marker.self, SpecialMarker.self, Pointer.self)

/// Feeds changes of unique values and deleted references to a copy.
@Suite("Conflicts in a feed")
struct FeedConflictTests {
  private let source: GraphFixture
  private let copy: GraphFixture

  init() throws { (source, copy) = (try GraphFixture(labels), try GraphFixture(labels)) }

  private static func make(_ isSpecial: Bool, _ context: ManagedObjectContext) -> Marker {
    isSpecial ? SpecialMarker(context: context) : Marker(context: context)
  }

  @discardableResult
  private func insert(
    _ name: String, _ number: Int? = nil, isSpecial: Bool = false, in fixture: GraphFixture
  ) throws -> ManagedObjectID {
    let context = fixture.context()
    let label = Self.make(isSpecial, context)
    (label.name, label.number) = (name, number)
    try context.save()
    return label.objectID
  }

  private func change(_ id: ManagedObjectID, _ body: (Marker) -> Void) throws {
    let context = source.context()
    body(try #require(try context.existingObject(Marker.self, with: id)))
    try context.save()
  }

  // MARK: Conflicts with objects of the copy

  /// The objects of the copy that an event conflicts with.
  enum Conflict: CaseIterable {
    case key, otherValue, subclass
  }

  @Test(.mustEnd, .evidence("CF-09"), arguments: Conflict.allCases, [false, true])
  func `a conflict with an object of the copy ends at its generation`(
    conflict: Conflict, isFollowing: Bool
  ) async throws {
    let first = try insert("first", in: source)
    switch conflict {
    case .key: try insert("taken", in: copy)
    case .otherValue: try insert("own", 7, in: copy)
    case .subclass: try insert("taken", isSpecial: true, in: copy)
    }
    let feed = try source.container.changeFeed(from: .existingObjects, consumer: "copy")
    let target = copy.container
    let task = Task {
      if isFollowing { return try await target.follow(feed) }
      var receiver = FeedReceiver(target)
      for try await event in feed {
        try receiver.add(event.json())
        if let position = try receiver.apply().token { try feed.acknowledge(position) }
      }
    }
    while try source.container.historyConsumers["copy"] == nil {
      try await Task.sleep(for: .milliseconds(2))
    }
    switch conflict {
    case .key: try change(first) { $0.name = "taken" }
    case .otherValue: try change(first) { $0.number = 7 }
    case .subclass: try insert("taken", in: source)
    }
    let error = await #expect(throws: ObjectGraphError.self) { try await task.value }
    #expect(error?.kind == .constraintConflict)
    #expect(error?.message.hasPrefix("Event 2-0 about Marker/") == true, "\(error?.message ?? "-")")
    let names = try copy.context().fetchValues(FetchRequest<Marker>(), \.name)
    #expect(names.count == 2 && names.contains("first"))
  }

  @Test(.mustEnd, .evidence("CF-09"))
  func `a conflict ends at its generation if events are missing or more follow`() async throws {
    let first = try insert("first", in: source)
    try insert("taken", in: copy)
    let feed = try source.container.changeFeed(from: .oldestTransaction)
    try copy.container.apply(events: try await feed.first(1).map { try $0.json() })
    try change(first) { $0.name = "taken" }
    try insert("second", in: source)
    let old = try await feed.all(of: source.container)
    try insert("third", in: source)
    try insert("fourth", in: source)
    let token = try #require(old.last?.token)
    let new = try await source.container.changeFeed(from: .after(token)).all(of: source.container)
    #expect(old.count == 3 && new.count == 2)
    // If the last event of a generation is missing, the conflict ends when the next generation
    // begins.
    for events in [[old[1], new[0]], [old[1], old[2], new[0]]] {
      var receiver = FeedReceiver(copy.container)
      for event in events { try receiver.add(event.json()) }
      let error = #expect(throws: ObjectGraphError.self) { try receiver.apply() }
      #expect(error?.message.hasPrefix("Event 2-0 about Marker/1 ") == true)
    }
  }

  @Test(.mustEnd, .evidence("CF-09"))
  func `a conflict in a snapshot ends before the changes that follow`() async throws {
    let first = try insert("first", in: source)
    try insert("taken", in: copy)
    let feed = try source.container.changeFeed(from: .oldestTransaction)
    try copy.container.apply(events: try await feed.first(1).map { try $0.json() })
    try change(first) { $0.name = "taken" }
    let snapshot = try await source.container.changeFeed(from: .existingObjects)
      .all(of: source.container)
    let token = try #require(snapshot.last?.token)
    for name in ["second", "third"] { try insert(name, in: source) }
    let later = try await source.container.changeFeed(from: .after(token)).all(of: source.container)
    // The event that completes the snapshot is missing.
    var receiver = FeedReceiver(copy.container)
    for event in [snapshot[0], later[0]] { try receiver.add(event.json()) }
    let error = #expect(throws: ObjectGraphError.self) { try receiver.apply() }
    #expect(error?.kind == .constraintConflict)
    #expect(error?.message.contains("about Marker/1 cannot be applied: ") == true)
  }

  // MARK: Deleted objects

  @Test(.mustEnd, .evidence("CF-10"), .evidence("C-06"), arguments: MergePolicy.Each.allCases)
  func `a reference to an object deleted in the copy follows the merge policy`(
    policy: MergePolicy.Each
  ) async throws {
    let label = try insert("a", in: source)
    let old = try await source.container.changeFeed(from: .oldestTransaction)
      .all(of: source.container)
    try copy.container.apply(events: old.map { try $0.json() })
    let edited = copy.context()
    for copied in try edited.fetch(FetchRequest<Marker>()) { edited.delete(copied) }
    try edited.save()
    let context = source.context()
    Pointer(context: context).label = try context.existingObject(Marker.self, with: label)
    try context.save()
    let new = try await source.container.changeFeed(from: .after(try #require(old.last?.token)))
      .all(of: source.container).map { try $0.json() }
    if policy == .error {
      expect(.mergeConflict, "Event 2-0 about Pointer/1", "Marker/1 was deleted in this store") {
        try copy.container.apply(events: new, mergePolicy: policy.policy)
      }
      #expect(try objects(copy) == [])
    } else {
      try copy.container.apply(events: new, mergePolicy: policy.policy)
      #expect(try objects(copy) == (policy.keepsStore ? ["pointer - -"] : objects(source)))
    }
  }

  @Test(.mustEnd, .evidence("CF-05"), arguments: [false, true])
  func `a relationship to a deleted object is empty`(isSnapshot: Bool) async throws {
    let context = source.context()
    for number in 0..<2 {
      let (label, pointer) = (Marker(context: context), Pointer(context: context))
      (label.name, pointer.text, pointer.label) = ("\(number)", "\(number)", label)
    }
    try context.save()
    for label in try context.fetch(FetchRequest<Marker>()) { context.delete(label) }
    try context.save()
    let events = try await source.container.changeFeed(
      from: isSnapshot ? .existingObjects : .oldestTransaction
    ).all(of: source.container)
    try copy.container.apply(events: events.map { try $0.json() })
    #expect(try copy.context().count(for: FetchRequest<Marker>()) == 0)
    let pointers = try copy.context().fetch(FetchRequest<Pointer>())
    #expect(pointers.count == 2 && pointers.allSatisfy { $0.label == nil })
  }

  @Test(.mustEnd, .evidence("CF-08"))
  func `a reference to an object that a later generation deletes inserts nothing`() async throws {
    let context = source.context()
    let (label, pointer) = (Marker(context: context), Pointer(context: context))
    pointer.label = label
    try context.save()
    let old = try await source.container.changeFeed(from: .oldestTransaction)
      .all(of: source.container)
    context.delete(label)
    try context.save()
    let new = try await source.container.changeFeed(from: .after(try #require(old.last?.token)))
      .all(of: source.container)
    try copy.container.apply(events: (old + new).map { try $0.json() })
    #expect(try objects(copy) == ["pointer - -"])
  }

  /// Returns the events of the source, each with the given time of day.
  private func events(from start: ChangeFeed.Start, at time: String) async throws -> [Data] {
    let events = try await source.container.changeFeed(from: start).all(of: source.container)
    return try events.map { event in
      let text = String(decoding: try event.json(), as: UTF8.self)
      return Data(
        text.replacing(/"time":"[^"]*"/, with: "\"time\":\"2026-11-27T\(time):00.000Z\"").utf8)
    }
  }

  @Test(.mustEnd, .evidence("CF-08"))
  func `a snapshot replaces an interrupted snapshot of the same millisecond`() async throws {
    let first = try insert("a", in: source)
    var receiver = FeedReceiver(copy.container)
    let old = try await events(from: .existingObjects, at: "09:00").dropLast()
    for event in old { try receiver.add(event) }
    #expect(try receiver.apply().appliedCount == 1)
    let context = source.context()
    context.delete(try #require(try context.existingObject(Marker.self, with: first)))
    try context.save()
    try insert("b", in: source)
    for event in try await events(from: .existingObjects, at: "09:00") { try receiver.add(event) }
    #expect(try receiver.apply().appliedCount == 1)
    #expect(try objects(copy) == objects(source))
  }

  @Test(.mustEnd, .evidence("CF-08"))
  func `a snapshot omits deleted objects even if the clock was set back`() async throws {
    let first = try insert("a", in: source)
    let token = try #require(try source.container.currentHistoryToken)
    try copy.container.apply(events: await events(from: .oldestTransaction, at: "09:00"))
    try insert("b", in: source)
    try copy.container.apply(events: await events(from: .after(token), at: "08:00"))
    let context = source.context()
    context.delete(try #require(try context.existingObject(Marker.self, with: first)))
    try context.save()
    try copy.container.apply(events: await events(from: .existingObjects, at: "08:30"))
    #expect(try objects(copy) == objects(source))
  }

  @Test(.mustEnd, .evidence("CF-09"), .enabled(if: TestScale.current >= .all))
  func `references to later objects need no larger transactions`() async throws {
    let count = 12_000
    let context = source.context()
    let all = (0..<count).map { _ in Marker(context: context) }
    for (number, label) in all.enumerated() {
      (label.name, label.parent) = ("\(number)", all[count - 1 - number])
    }
    try context.save()
    let events = try await source.container.changeFeed(from: .existingObjects)
      .all(of: source.container)
    try copy.container.apply(events: events.map { try $0.json() })
    let sizes = try copy.container.fetchHistory(after: nil).map(\.changes.count)
    // The first transaction also inserts the objects to which its own objects refer.
    #expect(sizes == [count, 2000])
    #expect(try objects(copy) == objects(source))
  }

  @Test(.mustEnd, .evidence("CF-08"))
  func `a deleted object and its replacement find one object of the copy`() async throws {
    try insert("a", 1, in: copy)
    let first = try insert("a", in: source)
    let context = source.context()
    context.delete(try #require(try context.existingObject(Marker.self, with: first)))
    let second = Marker(context: context)
    (second.name, second.number) = ("a", 2)
    try context.save()
    let events = try await source.container.changeFeed(from: .oldestTransaction)
      .all(of: source.container)
    try copy.container.apply(events: events.map { try $0.json() })
    #expect(try objects(copy) == objects(source))
    // The copy now contains the object.
    try change(second.objectID) { $0.number = 3 }
    let next = try await source.container.changeFeed(from: .after(try #require(events.last?.token)))
      .all(of: source.container)
    try copy.container.apply(events: next.map { try $0.json() })
    #expect(try objects(copy) == objects(source))
  }

  // MARK: Random changes

  /// Makes a random change to the labels, and saves it.
  ///
  /// A save that violates a constraint changes nothing.
  private func changeRandomly(_ random: inout SeededGenerator) throws {
    let context = source.context()
    for _ in 0..<(1 + random.below(5)) {
      let all = try context.fetch(FetchRequest<Marker>()).sorted { $0.name < $1.name }
      let (one, other) = (all.randomElement(using: &random), all.randomElement(using: &random))
      switch random.below(10) {
      case 0, 1:
        let label = Self.make(random.below(3) == 0, context)
        (label.name, label.parent) = ("\(random.below(30))", one)
      case 2, 3:
        guard let one, let other else { continue }
        (one.name, other.name) = (other.name, one.name)
      case 4: one?.name = "\(random.below(30))"
      case 5: one?.number = random.below(2) == 0 ? random.below(10) : nil
      case 6, 7: Pointer(context: context).label = one
      case 8:
        let pointers = try context.fetch(FetchRequest<Pointer>())
        guard let pointer = pointers.randomElement(using: &random) else { continue }
        pointer.owned = random.below(2) == 0 ? one : nil
        if random.below(3) == 0 { context.delete(pointer) }
      default:
        if let one { context.delete(one) }
      }
    }
    do { try context.save() } catch is ObjectGraphError { context.rollback() }
  }

  /// Returns the labels and pointers of a container as text.
  private func objects(_ fixture: GraphFixture) throws -> [String] {
    let context = fixture.context()
    let all = try context.fetch(FetchRequest<Marker>())
    let existing = Set(all)
    func name(_ label: Marker?) -> String {
      label.map { existing.contains($0) ? $0.name : "-" } ?? "-"
    }
    let lines = all.map { label in
      "\(type(of: label)) \(label.name) \(label.number ?? -1) \(name(label.parent))"
    }
    let pointers = try context.fetch(FetchRequest<Pointer>()).map { pointer in
      "pointer \(name(pointer.label)) \(name(pointer.owned))"
    }
    return (lines + pointers).sorted()
  }

  @Test(
    .mustEnd, .evidence("CF-08"), .evidence("CF-09"),
    arguments: TestScale.seeds(quick: 12, all: 100, long: 300))
  func `events are applied no later than at the end of their generation`(seed: UInt64) async throws
  {
    var random = SeededGenerator(seed: seed)
    var receiver = FeedReceiver(copy.container)
    var start = ChangeFeed.Start.existingObjects
    for round in 0..<12 {
      for _ in 0..<random.below(6) { try changeRandomly(&random) }
      try insert("round \(round)", in: source)
      let all = try await source.container.changeFeed(from: start).all(of: source.container)
      // The feed may be interrupted at any event, and then continues with a later generation.
      let events = all.prefix(random.below(2) == 0 ? random.below(all.count) : all.count)
      for event in events {
        try receiver.add(event.json())
        let isLast = event.isLast && event.transaction == event.newestTransaction
        // Several generations may be applied together.
        guard random.below(isLast ? 2 : 4) == 0 || event.id == all.last?.id else { continue }
        let report = try receiver.apply()
        if isLast { #expect(report.token == event.token, "seed \(seed)") }
      }
      if let token = events.last?.token { start = .after(token) }
      guard events.count == all.count else { continue }
      let (wanted, found) = (try objects(source), try objects(copy))
      #expect(wanted == found, "seed \(seed): \(wanted.difference(from: found))")
    }
  }

  @Test(.mustEnd, .evidence("CF-09"), arguments: TestScale.seeds(quick: 6, all: 100))
  func `a feed that was cut off is reported, and can be repeated`(seed: UInt64) async throws {
    var random = SeededGenerator(seed: seed)
    for _ in 0..<12 { try changeRandomly(&random) }
    try insert("end", in: source)
    let feed = try source.container.changeFeed(from: .oldestTransaction)
    let events = try await feed.all(of: source.container).map { try $0.json() }
    for count in 0..<events.count {
      do {
        try copy.container.apply(events: events[..<count])
      } catch let error as ObjectGraphError {
        #expect(
          error.message.contains("ends in the middle of a generation"), "seed \(seed): \(error)")
        #expect(error.message.hasPrefix("Event"), "seed \(seed): \(error)")
      }
    }
    try copy.container.apply(events: events)
    let (wanted, found) = (try objects(source), try objects(copy))
    #expect(wanted == found, "seed \(seed): \(wanted.difference(from: found))")
  }
}
