import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

private final class Sample: ManagedObject {
  @Attribute var name: String = ""
  @Attribute var number: Double = 1
  @Attribute var indexed: Double = 1
  @Attribute var float: Float = 1
  @Attribute var day: Date? = nil
  override class var entity: Entity {
    Entity("Sample") {
      Index(\Sample.indexed)
      Index(\Sample.float)
      Index(\Sample.day)
    }
  }
}

private final class Key: ManagedObject {
  @Attribute var number: Double? = nil
  @Attribute var float: Float? = nil
  @Attribute var day: Date? = nil
  @Attribute var name: String? = nil
  @Attribute var note: Int = 0
  override class var entity: Entity {
    Entity("Key") {
      Unique(\Key.number)
      Unique(\Key.float)
      Unique(\Key.day)
      Unique(\Key.name)
    }
  }
}

private final class Caption: ManagedObject {
  @Attribute var name: String = ""
  @Attribute var indexed: String = ""
  var length: Int {
    get { name.count }
    set {}
  }
  override class var entity: Entity { Entity("Caption") { Index(\Caption.indexed) } }
}

private let composed = "caf\u{E9}"
private let decomposed = "cafe\u{301}"

private func scalars(_ text: String?) -> [UInt32]? { text?.unicodeScalars.map(\.value) }

@Suite("Values that are equal but not identical")
struct ValueIdentityTests {
  @Test(.evidence("V-03")) func `equal but not identical values are stored as given`() throws {
    let fixture = try GraphFixture(Schema(Sample.self))
    let context = fixture.context()
    let object = Sample(context: context)
    let payload = Double(nan: 77, signaling: false)
    object.name = decomposed
    object.number = -0.0
    object.indexed = payload
    object.float = -0.0
    object.day = Date(timeIntervalSinceReferenceDate: -0.0)
    try context.save()
    let found: Sample = try #require(try fixture.context().existingObject(with: object.objectID))
    #expect(scalars(found.name) == scalars(decomposed))
    #expect(found.number.sign == .minus && found.float.sign == .minus)
    #expect(found.indexed.bitPattern == payload.bitPattern)
    #expect(found.day?.timeIntervalSinceReferenceDate.sign == .minus)
  }

  @Test(.evidence("V-03"))
  func `replacing a value with an equal but not identical one is a change`() throws {
    let fixture = try GraphFixture(Schema(Sample.self))
    let context = fixture.context()
    context.tracksUndo = true
    let object = Sample(context: context)
    object.name = decomposed
    object.number = 0.0
    try context.save()
    object.name = composed
    object.number = -0.0
    context.endUndoGroup()
    #expect(object.hasChanges)
    context.undo()
    #expect(scalars(object.name) == scalars(decomposed) && object.number.sign == .plus)
    #expect(!object.hasChanges)
    context.redo()
    #expect(scalars(object.name) == scalars(composed) && object.hasChanges)
    try context.save()
    let other = fixture.context()
    let found: Sample = try #require(try other.existingObject(with: object.objectID))
    #expect(scalars(found.name) == scalars(composed) && found.number.sign == .minus)
    let history = try fixture.container.fetchHistory(after: nil as PersistentHistoryToken?)
    let last = try #require(history.last?.changes.last)
    #expect(last.kind == .update(properties: ["name", "number"]))
  }

  @Test(.evidence("V-03")) func `batch requests write equal but not identical values`() throws {
    let fixture = try GraphFixture(Schema(Sample.self, Key.self))
    let context = fixture.context()
    let object = Sample(context: context)
    object.name = decomposed
    let key = Key(context: context)
    key.name = decomposed
    try context.save()
    let update = BatchUpdateRequest<Sample> { row in row[\.name] = composed }
    #expect(try context.execute(update).count == 1)
    let found: Sample = try #require(try fixture.context().existingObject(with: object.objectID))
    #expect(scalars(found.name) == scalars(composed))
    let history = try fixture.container.fetchHistory(after: nil as PersistentHistoryToken?)
    let last = try #require(history.last?.changes.last)
    #expect(last.kind == .update(properties: ["name"]))
    context.mergePolicy = .mergeByPropertyObjectTrump
    var isFirst = true
    try context.execute(
      BatchInsertRequest<Key> { row in
        defer { isFirst = false }
        row[\.name] = composed
        return !isFirst
      })
    let keys = try fixture.context().fetch(FetchRequest<Key>())
    #expect(keys.map { scalars($0.name) } == [scalars(composed)])
  }

  @Test(.evidence("V-03"))
  func `generations and merges distinguish equal but not identical values`() throws {
    let fixture = try GraphFixture(Schema(Sample.self))
    let context = fixture.context()
    let object = Sample(context: context)
    object.name = decomposed
    try context.save()
    let (first, second) = (fixture.context(), fixture.context())
    try first.setQueryGenerationFrom(.current)
    let mine: Sample = try #require(try first.existingObject(with: object.objectID))
    let before = try #require(first.queryGenerationToken)
    try fixture.change(Sample.self, object.objectID) { $0.name = composed }
    try second.setQueryGenerationFrom(.current)
    _ = try second.count(for: FetchRequest<Sample>())
    let changes = try fixture.container.changes(
      from: before, to: try #require(second.queryGenerationToken))
    #expect(changes.updated[object.objectID] == ["name"])
    // Changing only the name's Unicode representation, as the other context did, is still a change.
    mine.name = "other"
    first.mergePolicy = .mergeByPropertyStoreTrump
    try first.save()
    #expect(scalars(mine.name) == scalars(composed))
  }

  @Test(.evidence("V-06")) func `unique constraints treat equal values as one`() throws {
    let zeros: [(Key) -> Void] = [
      { $0.number = $0.note == 0 ? 0.0 : -0.0 }, { $0.float = $0.note == 0 ? -0.0 : 0.0 },
      { $0.day = Date(timeIntervalSinceReferenceDate: $0.note == 0 ? 0.0 : -0.0) },
      { $0.number = $0.note == 0 ? .nan : Double(nan: 5, signaling: false) },
      { $0.float = $0.note == 0 ? .nan : -Float.nan },
      { $0.name = $0.note == 0 ? composed : decomposed },
    ]
    for (number, set) in zeros.enumerated() {
      for isOneSave in [true, false] {
        let fixture = try GraphFixture(Schema(Key.self))
        let context = fixture.context()
        let first = Key(context: context)
        set(first)
        if !isOneSave { try context.save() }
        let second = Key(context: context)
        second.note = 1
        set(second)
        let error = try #require(throws: ObjectGraphError.self, "\(number)") { try context.save() }
        #expect(error.kind == .constraintConflict)
        context.mergePolicy = .mergeByPropertyObjectTrump
        try context.save()
        #expect(try fixture.context().fetch(FetchRequest<Key>()).map(\.note) == [1], "\(number)")
      }
    }
  }

  @Test(.evidence("V-06")) func `an object can be set to equal but not identical values in turn`()
    throws
  {
    let fixture = try GraphFixture(Schema(Key.self))
    let context = fixture.context()
    let object = Key(context: context)
    object.number = 0.0
    object.name = composed
    try context.save()
    object.number = -0.0
    object.name = decomposed
    try context.save()
    context.delete(object)
    try context.save()
    let other = Key(context: context)
    other.number = 0.0
    other.name = composed
    try context.save()
    let found: Key? = try fixture.context().existingObject(where: \Key.number, equals: -0.0)
    #expect(found?.objectID == other.objectID)
    // Like a fetch, a lookup of NaN finds nothing.
    other.number = .nan
    try context.save()
    let none: Key? = try fixture.context().existingObject(where: \Key.number, equals: .nan)
    #expect(none == nil)
  }

  @Test(.evidence("V-06"))
  func `equal but not identical values are found and sorted alike with and without an index`()
    throws
  {
    let fixture = try GraphFixture(Schema(Sample.self))
    let context = fixture.context()
    var random = SeededGenerator(seed: 5)
    let values = [
      0.0, -0.0, .nan, -.nan, Double(nan: 9, signaling: false), .infinity, -.infinity, 1, -1,
      .leastNonzeroMagnitude, .greatestFiniteMagnitude,
    ]
    for number in 0..<200 {
      let object = Sample(context: context)
      let value = values[random.below(values.count)]
      object.name = "\(number)"
      object.number = value
      object.indexed = value
      object.day = Date(timeIntervalSinceReferenceDate: value)
    }
    try context.save()
    for value in values {
      for comparison in ["==", "!=", "<", "<=", ">", ">="] {
        let names = try ["number", "indexed"].map { name in
          var request = FetchRequest<Sample>()
          request.predicate = try QueryPredicate(
            format: "\(name) \(comparison) %@", arguments: [value])
          return try fixture.context().fetch(request).map(\.name)
        }
        #expect(names[0] == names[1], "\(comparison) \(value)")
      }
      let list = [value, 1]
      let plain = FetchRequest<Sample>(where: #Predicate { list.contains($0.number) })
      let fast = FetchRequest<Sample>(where: #Predicate { list.contains($0.indexed) })
      let other = fixture.context()
      #expect(try other.fetch(plain).map(\.name) == other.fetch(fast).map(\.name))
    }
    for order in [SortOrder.forward, .reverse] {
      for limit in [3, 60, nil] {
        let plain = FetchRequest<Sample>(sort: [SortDescriptor(\.number, order: order)])
        var first = plain
        first.fetchLimit = limit
        var second = FetchRequest<Sample>(sort: [SortDescriptor(\.indexed, order: order)])
        second.fetchLimit = limit
        let other = fixture.context()
        #expect(try other.fetch(first).map(\.name) == other.fetch(second).map(\.name))
      }
    }
    let groups = try context.aggregate(FetchRequest<Sample>(), by: \.number, .count)
    #expect(groups.count == 8)
    let distinct = try context.fetchValues(FetchRequest<Sample>(), \.number, isDistinct: true)
    #expect(distinct.count == 8)
    let days = try context.fetchValues(FetchRequest<Sample>(), \.day, isDistinct: true)
    #expect(days.count == 8)
  }

  @Test(.evidence("V-09")) func `composed and decomposed strings have the same order`() throws {
    let fixture = try GraphFixture(Schema(Sample.self, Caption.self))
    let context = fixture.context()
    var names: [String] = []
    for count in [10, 2, 3, 1, 50, 4] {
      names.append(String(repeating: "e\u{301}", count: count))
      names.append(String(repeating: "\u{E9}", count: count) + "e")
      names.append(String(repeating: "\u{E9}", count: count - 1) + "e")
    }
    for name in names {
      let label = Caption(context: context)
      label.name = name
      label.indexed = name
    }
    try context.save()
    let expected = names.map(\.precomposedStringWithCanonicalMapping).sorted {
      $0.utf8.lexicographicallyPrecedes($1.utf8)
    }
    for limit in [nil, 5] {
      var plain = FetchRequest<Caption>(sort: [SortDescriptor(\.name)])
      var fast = FetchRequest<Caption>(sort: [SortDescriptor(\.indexed)])
      (plain.fetchLimit, fast.fetchLimit) = (limit, limit)
      let first = Array(expected.prefix(limit ?? .max))
      #expect(try fixture.context().fetch(plain).map(\.name) == first)
      #expect(try fixture.context().fetch(fast).map(\.name) == first)
    }
    let middle = expected[7]
    let found = try fixture.context().count(
      for: FetchRequest<Caption>(where: #Predicate { $0.name < middle }))
    #expect(found == 7)
  }

  @Test(.evidence("V-10")) func `errors name the entity and property of a value`() throws {
    let fixture = try GraphFixture(Schema(Sample.self, Caption.self))
    let context = fixture.context()
    Caption(context: context).name = "a"
    try context.save()
    let update = BatchUpdateRequest<Caption> { row in row[\.length] = 1 }
    let error = try #require(throws: ObjectGraphError.self) { try context.execute(update) }
    #expect(error.kind == .unknownProperty && error.message.contains("from Caption to Int"))
    let request = FetchRequest<Caption>(where: #Predicate { $0.length > 1 })
    let other = try #require(throws: ObjectGraphError.self) { try context.fetch(request) }
    #expect(other.message.contains("from Caption to Int") && !"\(other)".contains("0x"))
    // A sort key, unlike a predicate, may use a computed property. The objects are then sorted in
    // memory.
    let sorted = FetchRequest<Caption>(sort: [SortDescriptor(\.length, order: .reverse)])
    for name in ["ccc", "bb"] { Caption(context: context).name = name }
    try context.save()
    #expect(try fixture.context().fetch(sorted).map(\.name) == ["ccc", "bb", "a"])
  }
}
