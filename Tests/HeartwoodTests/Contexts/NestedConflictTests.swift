import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

/// Tests saves of others between the time at which a child reads an object and its edit.
///
/// The parent does not retain the object, so it reads the row again when the child is saved.
@Suite("Conflicts of edits in child contexts")
struct NestedConflictTests {
  enum Change: CaseIterable { case edit, deletion, newMember }
  /// The way in which the root context reads what others have saved.
  enum Reading: CaseIterable { case none, refresh, merge }

  private let fixture: GraphFixture
  private let id: ManagedObjectID

  init() throws {
    fixture = try GraphFixture()
    id = try fixture.person("Ada", age: 1)
  }

  /// Changes the age and the name in a separate context, and saves the changes.
  private func changeByOthers() throws {
    try fixture.change(id) { ($0.age, $0.name) = (20, "Theirs") }
  }

  /// Returns the person, which the given context has read before others changed it.
  private func personReadBeforeChange(in child: ManagedObjectContext) throws -> Person {
    let ada: Person = child.object(with: id)
    #expect(ada.age == 1)
    try changeByOthers()
    return ada
  }

  private func stored() throws -> (name: String, age: Int, nickname: String?)? {
    try fixture.stored { context in
      try context.existingObject(Person.self, with: id).map { ($0.name, $0.age, $0.nickname) }
    }
  }

  @Test(
    .evidence("N-05"), .evidence("C-02"), .evidence("C-10"), arguments: Change.allCases,
    Reading.allCases)
  func `a child's change conflicts with saves made after the child read the object`(
    change: Change, reading: Reading
  ) throws {
    for depth in 1...2 {
      let id = try fixture.person("Person \(depth)", age: 1)
      let chain = fixture.chain(depth: depth)
      let person: Person = chain.child.object(with: id)
      #expect(person.age == 1 && chain.root.registeredObjects.isEmpty)
      let known =
        reading == .none ? nil : try chain.root.existingObject(Person.self, with: id)
      try fixture.change(id) { $0.age = 20 }
      switch reading {
      case .none: break
      case .refresh: chain.root.refreshAllObjects()
      case .merge:
        let newest = try #require(try fixture.container.fetchHistory(after: nil).last)
        try chain.root.mergeChanges(from: newest)
      }
      #expect(known.map { $0.age == 20 } ?? true)
      switch change {
      case .edit: person.nickname = "mine"
      case .deletion: chain.child.delete(person)
      case .newMember: Car(context: chain.child).owner = person
      }
      let error = #expect(throws: ObjectGraphError.self) { try chain.save() }
      #expect(error?.kind == .mergeConflict && error?.objectID == id)
      #expect(known.map { $0.isDeleted == (change == .deletion) } ?? true)
      #expect(try fixture.stored(id) ?? ("", 0, 0) == ("Person \(depth)", 20, 0))
    }
  }

  /// Returns the stored values after a child's edits, which are older than changes by others, were
  /// saved with the given policy.
  private func outcome(_ policy: MergePolicy) throws -> (String, Int, String?) {
    let id = try fixture.person("Mine", age: 1)
    let chain = fixture.chain(depth: 2)
    chain.root.mergePolicy = policy
    let person: Person = chain.child.object(with: id)
    (person.age, person.nickname) = (5, "mine")
    try fixture.change(id) { ($0.age, $0.name) = (20, "Theirs") }
    try chain.child.save()
    person.age = 10
    try chain.save()
    return try fixture.stored { context in
      let stored = try #require(try context.existingObject(Person.self, with: id))
      return (stored.name, stored.age, stored.nickname)
    }
  }

  @Test(.evidence("N-05"), .evidence("C-02"))
  func `a merge policy compares edits with the values that the child read`() throws {
    let adding = MergePolicy.custom { conflict in
      guard case .integer(let mine)? = conflict.mine["age"],
        case .integer(let theirs)? = conflict.theirs?["age"],
        case .integer(let base)? = conflict.base["age"]
      else { return }
      conflict.result["age"] = .integer(mine + theirs - base)
    }
    let expected: [(policy: MergePolicy, age: Int, nickname: String?)] = [
      (.mergeByPropertyObjectTrump, 10, "mine"), (.mergeByPropertyStoreTrump, 20, "mine"),
      (.overwrite, 10, "mine"), (.rollback, 20, nil), (adding, 29, "mine"),
    ]
    for (policy, age, nickname) in expected {
      let fresh = try NestedConflictTests()
      let found = try fresh.outcome(policy)
      #expect(found == ("Theirs", age, nickname))
    }
  }

  @Test(.evidence("N-05"), .evidence("C-10"), arguments: MergePolicy.Each.allCases)
  func `a merge policy decides whether a deletion in a child is stored`(
    policy: MergePolicy.Each
  ) throws {
    guard policy != .error else { return }
    let chain = fixture.chain(depth: 1)
    // The custom policy keeps an object that others have changed.
    chain.root.mergePolicy =
      policy == .custom
      ? .custom { $0.isDeleted = $0.base["age"] == $0.theirs?["age"] } : policy.policy
    let ada = try personReadBeforeChange(in: chain.child)
    chain.child.delete(ada)
    try chain.save()
    let isKept = policy.keepsStore || policy == .custom
    #expect(try stored()?.age == (isKept ? 20 : nil))
  }

  @Test(.evidence("N-05"))
  func `a save of the root context does not hide what others saved before it`() throws {
    let chain = fixture.chain(depth: 1)
    let ada = try personReadBeforeChange(in: chain.child)
    chain.root.object(Person.self, with: id).nickname = "root"
    try chain.root.save()
    ada.age = 10
    let error = #expect(throws: ObjectGraphError.self) { try chain.save() }
    #expect(error?.kind == .mergeConflict)
    #expect(try stored() ?? ("", 0, nil) == ("Theirs", 20, "root"))
  }

  @Test(.evidence("N-05"), .evidence("QG-30"))
  func `an edit is in conflict after the parent has moved to a newer generation`() throws {
    let chain = fixture.chain(depth: 1)
    try chain.root.setQueryGenerationFrom(.current)
    let ada = try personReadBeforeChange(in: chain.child)
    try chain.root.setQueryGenerationFrom(.current)
    ada.nickname = "mine"
    let error = #expect(throws: ObjectGraphError.self) { try chain.save() }
    #expect(error?.kind == .mergeConflict)
  }

  // MARK: Undo in the parent

  @Test(.evidence("N-05"), .evidence("G-05"), arguments: [false, true])
  func `undoing a child's change in the parent keeps the parent's own edit`(
    isDeletion: Bool
  ) throws {
    let chain = fixture.chain(depth: 1)
    chain.root.tracksUndo = true
    let ada = try personReadBeforeChange(in: chain.child)
    chain.root.object(Person.self, with: id).age = 21
    if isDeletion { chain.child.delete(ada) } else { ada.age = 30 }
    try chain.child.save()
    chain.root.undo()
    try chain.root.save()
    #expect(try stored()?.age == 21)
  }

  @Test(.evidence("N-05"), .evidence("G-01"), arguments: [false, true])
  func `redoing a child's change in the parent restores its conflict`(isDeletion: Bool) throws {
    let chain = fixture.chain(depth: 1)
    chain.root.tracksUndo = true
    let ada = try personReadBeforeChange(in: chain.child)
    if isDeletion { chain.child.delete(ada) } else { ada.age = 30 }
    try chain.child.save()
    for _ in 1...2 {
      chain.root.undo()
      chain.root.redo()
    }
    if !isDeletion {
      // Reverting the edit by hand discards its base when the reversal is redone.
      chain.root.object(Person.self, with: id).age = 20
      chain.root.undo()
      chain.root.redo()
      chain.root.undo()
    }
    let error = #expect(throws: ObjectGraphError.self) { try chain.root.save() }
    #expect(error?.kind == .mergeConflict)
  }

  @Test(.evidence("N-05"), .evidence("S-03"))
  func `an undo does not restore a conflict that a refresh has resolved`() throws {
    let chain = fixture.chain(depth: 1)
    chain.root.tracksUndo = true
    let ada: Person = chain.child.object(with: id)
    ada.age = 10
    try changeByOthers()
    try chain.child.save()
    ada.nickname = "undone"
    try chain.child.save()
    try chain.root.refresh(chain.root.object(Person.self, with: id), mergeChanges: true)
    chain.root.undo()
    try chain.root.save()
    #expect(try stored() ?? ("", 0, nil) == ("Theirs", 10, nil))
  }

  @Test(.evidence("N-05"), .evidence("C-02"), arguments: [1, 2])
  func `a reverted edit of a child is not the base of a later edit`(depth: Int) throws {
    let chain = fixture.chain(depth: depth)
    let parent = chain.contexts[depth - 1]
    chain.root.mergePolicy = .mergeByPropertyStoreTrump
    parent.tracksUndo = true
    let ada: Person = chain.child.object(with: id)
    (ada.age, ada.nickname) = (30, "mine")
    try changeByOthers()
    try chain.child.save()
    parent.object(Person.self, with: id).age = 20
    if depth == 1 { parent.undo() }
    if depth == 1 { parent.redo() } else { try parent.save() }
    chain.root.object(Person.self, with: id).age = 25
    try chain.root.save()
    #expect(try stored() ?? ("", 0, nil) == ("Theirs", 25, "mine"))
  }

  // MARK: Changes that are not in conflict

  @Test(.evidence("N-05"), .evidence("C-02"), arguments: [false, true], [1, 2])
  func `a child's change inherits the base of the parent's edit that it replaces`(
    isDeletion: Bool, depth: Int
  ) throws {
    let chain = fixture.chain(depth: depth)
    // The custom policy keeps an object whose age others have changed.
    chain.root.mergePolicy =
      isDeletion
      ? .custom { $0.isDeleted = $0.base["age"] == $0.theirs?["age"] }
      : .mergeByPropertyStoreTrump
    let own: Person = chain.root.object(with: id)
    own.age = 11
    let ada: Person = chain.child.object(with: id)
    #expect(ada.age == 11)
    try fixture.change(id) { $0.name = "Theirs" }
    try chain.root.refresh(own, mergeChanges: true)
    if isDeletion { chain.child.delete(ada) } else { ada.age = 12 }
    try chain.save()
    #expect(try stored()?.age == (isDeletion ? nil : 12))
  }

  @Test(.evidence("N-05"), .evidence("N-02"), arguments: [1, 2])
  func `a child edits objects again after saves of the root context`(depth: Int) throws {
    let chain = fixture.chain(depth: depth)
    let sibling = fixture.child(of: chain.root)
    let (ada, other): (Person, Person) = (chain.child.object(with: id), sibling.object(with: id))
    #expect(ada.age == 1 && other.age == 1)
    let new = Person(context: chain.child)
    for age in 2...4 {
      (ada.age, new.age) = (age, age)
      try chain.save()
    }
    other.nickname = "sibling"
    try sibling.save()
    try chain.root.save()
    chain.root.object(Person.self, with: id).name = "Eve"
    try chain.root.save()
    ada.age = 5
    Car(context: chain.child).owner = ada
    try chain.save()
    #expect(try stored() ?? ("", 0, nil) == ("Eve", 5, "sibling"))
    chain.child.delete(new)
    chain.child.delete(ada)
    try chain.save()
    #expect(try fixture.context().count(for: FetchRequest<Person>()) == 0)
    #expect(try fixture.context().count(for: FetchRequest<Car>()) == 0)
  }

  /// The way in which a child reads what others have saved.
  enum Rereading: CaseIterable { case fetch, refresh, refreshOfEdit, firstReading }

  @Test(.evidence("N-05"), .evidence("S-03"), arguments: Rereading.allCases, [1, 2])
  func `an edit is not in conflict with what the child has read`(
    rereading: Rereading, depth: Int
  ) throws {
    let chain = fixture.chain(depth: depth)
    let ada: Person = chain.child.object(with: id)
    if rereading != .firstReading { #expect(ada.age == 1) }
    try changeByOthers()
    switch rereading {
    case .fetch: _ = try chain.child.fetch(FetchRequest<Person>())
    case .refresh: try chain.child.refresh(ada, mergeChanges: false)
    case .refreshOfEdit:
      ada.nickname = "early"
      try chain.child.refresh(ada, mergeChanges: true)
    case .firstReading: break
    }
    ada.nickname = "mine"
    try chain.save()
    #expect(try stored() ?? ("", 0, nil) == ("Theirs", 20, "mine"))
  }

  @Test(.evidence("N-05"), .evidence("N-01"), arguments: [1, 2])
  func `an edit is not in conflict after a fetch that finds the same values`(depth: Int) throws {
    let chain = fixture.chain(depth: depth)
    let ada: Person = chain.child.object(with: id)
    #expect(ada.age == 1)
    // A new member changes the row, but none of the values that the child has read.
    try fixture.change(id) { person in
      if let context = person.managedObjectContext { Car(context: context).owner = person }
    }
    #expect(try chain.child.fetch(FetchRequest<Person>()) == [ada])
    ada.nickname = "mine"
    try chain.save()
    #expect(try fixture.stored(id)?.cars == 1)
  }

  @Test(.evidence("N-05"), .evidence("C-05"))
  func `an edit that equals the parent's value does not affect the parent's own edits`() throws {
    let chain = fixture.chain(depth: 1)
    let ada = try personReadBeforeChange(in: chain.child)
    chain.root.object(Person.self, with: id).nickname = "own"
    ada.age = 20
    try chain.save()
    #expect(try stored() ?? ("", 0, nil) == ("Theirs", 20, "own"))
  }

  /// The way in which the parent removes an edit, or the conflict of the edit.
  enum Reversal: CaseIterable { case undo, rollback, refresh, merge }

  @Test(
    .evidence("N-05"), .evidence("G-05"), .evidence("S-03"), .evidence("S-07"),
    arguments: Reversal.allCases, [1, 2])
  func `a parent that reverts or rereads an older edit of a child has no conflict`(
    reversal: Reversal, depth: Int
  ) throws {
    let chain = fixture.chain(depth: depth)
    let parent = chain.contexts[depth - 1]
    parent.tracksUndo = true
    let ada: Person = chain.child.object(with: id)
    ada.age = 10
    try changeByOthers()
    try chain.child.save()
    let own: Person = parent.object(with: id)
    #expect(own.age == 10 && own.name == "Theirs")
    switch reversal {
    case .undo: parent.undo()
    case .rollback: parent.rollback()
    case .refresh: try parent.refresh(own, mergeChanges: true)
    case .merge:
      // Only a root context can merge a transaction.
      guard depth == 1 else { return }
      let newest = try #require(try fixture.container.fetchHistory(after: nil).last)
      try parent.mergeChanges(from: newest)
    }
    let isReverted = reversal == .undo || reversal == .rollback
    #expect(parent.hasChanges == !isReverted)
    own.nickname = "own"
    try chain.save()
    #expect(try stored() ?? ("", 0, nil) == ("Theirs", isReverted ? 20 : 10, "own"))
  }

  @Test(.evidence("N-05"), .evidence("G-05"), arguments: [false, true])
  func `undoing an older deletion in the parent leaves no conflict`(isRolledBack: Bool) throws {
    let chain = fixture.chain(depth: 1)
    chain.root.tracksUndo = true
    let ada = try personReadBeforeChange(in: chain.child)
    chain.child.delete(ada)
    try chain.child.save()
    if isRolledBack { chain.root.rollback() } else { chain.root.undo() }
    chain.root.object(Person.self, with: id).nickname = "own"
    try chain.root.save()
    #expect(try stored() ?? ("", 0, nil) == ("Theirs", 20, "own"))
  }

  @Test(.evidence("N-05"), .evidence("G-02"))
  func `an edit that a child has undone does not replace what others have saved`() throws {
    let chain = fixture.chain(depth: 1)
    chain.root.mergePolicy = .mergeByPropertyObjectTrump
    chain.child.tracksUndo = true
    let ada: Person = chain.child.object(with: id)
    ada.age = 10
    try changeByOthers()
    try chain.child.save()
    chain.child.undo()
    #expect(ada.age == 1)
    try chain.save()
    #expect(try stored()?.age == 20)
  }

  @Test(.evidence("N-05"), .evidence("QG-35"))
  func `a root context that merges automatically keeps edits of a child`() throws {
    let chain = fixture.chain(depth: 1)
    chain.root.automaticallyMergesChangesFromParent = true
    let ada = try personReadBeforeChange(in: chain.child)
    #expect(try chain.root.count(for: FetchRequest<Person>()) == 1)
    ada.age = 10
    try chain.save()
    #expect(try stored() ?? ("", 0, nil) == ("Theirs", 10, nil))
  }
}
