import Heartwood
import HeartwoodTestSupport
import Testing

@Suite("Relationships that are their own inverse")
struct SelfInverseTests {
  private func cats(_ context: ManagedObjectContext) -> [Cat] {
    ["Ada", "Bob", "Cid", "Dot"].map { name in
      let cat = Cat(context: context)
      cat.name = name
      return cat
    }
  }

  /// Returns the stored mates and friends of cats, by name.
  private func stored(_ fixture: GraphFixture) throws -> [String: [String]] {
    let request = FetchRequest<Cat>()
    return Dictionary(
      uniqueKeysWithValues: try fixture.context().fetch(request).map { cat in
        (cat.name, [cat.mate?.name ?? "-"] + cat.friends.map(\.name).sorted())
      })
  }

  @Test(.evidence("R-16"), arguments: [false, true])
  func `a to-one relationship that is its own inverse stays consistent`(isSavedBetween: Bool) throws
  {
    let fixture = try GraphFixture(Schema(Cat.self))
    let context = fixture.context()
    let cats = cats(context)
    func next() throws { if isSavedBetween { try context.save() } }
    cats[0].mate = cats[1]
    #expect(cats[1].mate === cats[0])
    try next()
    cats[2].mate = cats[1]
    #expect(cats[0].mate == nil && cats[1].mate === cats[2])
    cats[3].mate = cats[0]
    try next()
    // Pairing two cats separates both of them from their previous mates.
    cats[0].mate = cats[1]
    #expect(cats[1].mate === cats[0] && cats[2].mate == nil && cats[3].mate == nil)
    try next()
    cats[0].mate = cats[0]
    #expect(cats[0].mate === cats[0] && cats[1].mate == nil)
    cats[0].mate = cats[0]
    try next()
    cats[0].mate = nil
    #expect(cats[0].mate == nil)
    cats[2].mate = cats[3]
    try context.save()
    #expect(try stored(fixture) == ["Ada": ["-"], "Bob": ["-"], "Cid": ["Dot"], "Dot": ["Cid"]])
    context.delete(cats[2])
    #expect(cats[3].mate == nil)
    try context.save()
    #expect(try stored(fixture) == ["Ada": ["-"], "Bob": ["-"], "Dot": ["-"]])
  }

  @Test(.evidence("R-16"), arguments: [false, true])
  func `a to-many relationship that is its own inverse stays consistent`(isSavedBetween: Bool)
    throws
  {
    let fixture = try GraphFixture(Schema(Cat.self))
    let context = fixture.context()
    let cats = cats(context)
    func next() throws { if isSavedBetween { try context.save() } }
    cats[0].friends = [cats[1], cats[2]]
    #expect(cats[1].friends == [cats[0]] && cats[2].friends == [cats[0]])
    try next()
    cats[1].friends.insert(cats[1])
    #expect(cats[1].friends == [cats[0], cats[1]])
    cats[2].friends.insert(cats[1])
    try next()
    cats[1].friends.remove(cats[0])
    #expect(cats[0].friends == [cats[2]] && cats[1].friends == [cats[1], cats[2]])
    try context.save()
    #expect(
      try stored(fixture) == [
        "Ada": ["-", "Cid"], "Bob": ["-", "Bob", "Cid"], "Cid": ["-", "Ada", "Bob"], "Dot": ["-"],
      ])
    context.delete(cats[1])
    #expect(cats[2].friends == [cats[0]])
    try context.save()
    #expect(try stored(fixture) == ["Ada": ["-", "Cid"], "Cid": ["-", "Ada"], "Dot": ["-"]])
    cats[0].friends = []
    try context.save()
    #expect(try stored(fixture) == ["Ada": ["-"], "Cid": ["-"], "Dot": ["-"]])
  }

  @Test(.evidence("R-16"), arguments: TestScale.seeds(quick: 3, all: 10))
  func `undo and redo restore both sides of a relationship that is its own inverse`(seed: UInt64)
    throws
  {
    var random = SeededGenerator(seed: seed)
    let fixture = try GraphFixture(Schema(Cat.self))
    let context = fixture.context()
    let cats = cats(context)
    try context.save()
    context.tracksUndo = true
    func shown() -> [[String]] {
      cats.map { cat in
        cat.isDeleted ? [] : [cat.mate?.name ?? "-"] + cat.friends.map(\.name).sorted()
      }
    }
    var states = [shown()]
    for _ in 0..<12 {
      for _ in 0...random.below(3) {
        let (cat, other) = (cats[random.below(4)], cats[random.below(4)])
        if cat.isDeleted || other.isDeleted { continue }
        switch random.below(8) {
        case 0, 1: cat.mate = other
        case 2: cat.mate = nil
        case 3, 4: cat.friends.insert(other)
        case 5: cat.friends.remove(other)
        case 6: cat.friends = Set(cats.filter { !$0.isDeleted && random.isTrue(in256: 128) })
        default: if random.isTrue(in256: 60) { context.delete(cat) }
        }
      }
      context.endUndoGroup()
      states.append(shown())
    }
    var undone = 0
    while context.canUndo {
      context.undo()
      undone += 1
    }
    #expect(shown() == states[0] && !context.hasChanges, "seed \(seed)")
    for _ in 0..<undone { context.redo() }
    #expect(shown() == states.last, "seed \(seed)")
    try context.save()
    let expected = Dictionary(
      uniqueKeysWithValues: zip(cats, shown()).filter { !$0.0.isDeleted }.map { ($0.name, $1) })
    #expect(try stored(fixture) == expected, "seed \(seed)")
  }

  @Test(.evidence("R-16"), .evidence("G-01"), arguments: [false, true], [false, true])
  func `undoing a relationship of an object to itself leaves no change`(
    isKitten: Bool, isOneGroup: Bool
  ) throws {
    let fixture = try GraphFixture(Schema(Cat.self, Kitten.self))
    let context = fixture.context()
    let cat = isKitten ? Kitten(context: context) : Cat(context: context)
    try context.save()
    context.tracksUndo = true
    cat.friends.insert(cat)
    cat.mate = cat
    if !isOneGroup { context.endUndoGroup() }
    context.delete(cat)
    for _ in 0..<2 {
      while context.canUndo { context.undo() }
      #expect(!context.hasChanges && cat.friends.isEmpty && cat.mate == nil)
      while context.canRedo { context.redo() }
      #expect(cat.isDeleted)
    }
  }

  @Test(.evidence("R-16"))
  func `conflicts of a relationship that is its own inverse are resolved like others`() throws {
    let fixture = try GraphFixture(Schema(Cat.self))
    let context = fixture.context()
    let cats = cats(context)
    try context.save()
    let other = fixture.context()
    other.object(Cat.self, with: cats[0].objectID).mate =
      other.object(Cat.self, with: cats[1].objectID)
    cats[0].mate = cats[2]
    try other.save()
    let error = #expect(throws: ObjectGraphError.self) { try context.save() }
    #expect(error?.kind == .mergeConflict)
  }
}
