import Heartwood
import HeartwoodTestSupport
import Testing

/// Changes and deletes the same people in two contexts, and makes the same changes to a reference.
///
/// Each of the contexts may be a child context. Its parents then retain no people, or people that
/// they have read at another time.
private final class MergeRun {
  private static let count = 8

  private let fixture: GraphFixture
  private let policy: MergeReference.Policy
  private let depth: Int
  private let chains: [ContextChain]
  private var contexts: [ManagedObjectContext] { chains.map(\.child) }
  private let ids: [ManagedObjectID]
  /// The people that a parent of each context retains.
  private var held: [[Person]] = [[], []]
  private var lastValue = 0
  private var reference = MergeReference(count: MergeRun.count)
  private var random: SeededGenerator
  private(set) var refusalCount = 0

  /// - Parameter depth: The number of parents of each context.
  init(_ policy: MergeReference.Policy, depth: Int = 0, seed: UInt64) throws {
    let fixture = try GraphFixture()
    self.fixture = fixture
    self.policy = policy
    self.depth = depth
    ids = try (0..<Self.count).map { try fixture.person("\($0)") }
    chains = (0..<2).map { _ in fixture.chain(depth: depth) }
    random = SeededGenerator(seed: seed)
    for chain in chains {
      chain.child.retainsRegisteredObjects = true
      chain.root.mergePolicy =
        switch policy {
        case .error: .error
        case .storeTrump: .mergeByPropertyStoreTrump
        case .objectTrump: .mergeByPropertyObjectTrump
        case .overwrite: .overwrite
        case .rollback: .rollback
        }
    }
  }

  func run(steps: Int) throws {
    for step in 0..<steps {
      let context = random.below(2)
      switch random.below(40) {
      case 0..<28: try change(random.below(Self.count), context)
      case 28: try delete(random.below(Self.count), context)
      case 29..<32:
        contexts[context].rollback()
        reference.rollback(context)
      case 32 where depth > 0:
        let parent = chains[context].contexts[random.below(depth)]
        held[context] = try parent.fetch(FetchRequest<Person>())
      default: try save(context)
      }
      try check("step \(step)")
    }
  }

  /// Loads a person in a context.
  ///
  /// - Returns: The person, or `nil` if it was deleted in the context or in the store.
  private func person(_ number: Int, _ context: Int) throws -> Person? {
    // A child must not read older values from people that its parents retain.
    held[context] = []
    let person = try contexts[context].existingObject(Person.self, with: ids[number])
    let isThere = reference.load(number, context)
    guard (person.map { !$0.isDeleted } ?? false) == isThere else {
      throw GraphMismatch("person \(number) is \(isThere ? "" : "not ")to be in \(context)")
    }
    return isThere ? person : nil
  }

  private func change(_ number: Int, _ context: Int) throws {
    guard let person = try person(number, context) else { return }
    lastValue += 1
    // Setting the parent's value changes nothing in the parent, so the values in children differ.
    if random.isTrue(in256: 128) {
      let age = depth > 0 ? lastValue : random.below(4)
      person.age = age
      reference.set(number, context, .age) { $0.age = age }
    } else {
      let isNil = depth == 0 && !random.isTrue(in256: 128)
      let nickname = isNil ? nil : "n\(depth > 0 ? lastValue : random.below(3))"
      person.nickname = nickname
      reference.set(number, context, .nickname) { $0.nickname = nickname }
    }
  }

  private func delete(_ number: Int, _ context: Int) throws {
    guard let person = try person(number, context) else { return }
    contexts[context].delete(person)
    reference.copies[context][number]?.isDeleted = true
  }

  private func save(_ context: Int) throws {
    // Saving a child discards edits of people that others have deleted (N-04).
    if depth > 0, reference.hasChangedMissing(context) { return reset(context) }
    let succeeds = reference.save(context, policy)
    do {
      try chains[context].save()
      guard succeeds else { throw GraphMismatch("the save did not detect a conflict") }
      // After a conflict, only the root context reads all its objects again.
      if depth > 0, reference.isContested {
        held[context] = []
        contexts[context].refreshAllObjects()
      }
    } catch let error as ObjectGraphError where error.kind == .mergeConflict && !succeeds {
      refusalCount += 1
      reset(context)
    }
  }

  /// Discards the changes of a context and its parents, so that they read the store again.
  private func reset(_ context: Int) {
    held[context] = []
    for one in chains[context].contexts { one.reset() }
    reference.copies[context] = [:]
  }

  private func check(_ label: String) throws {
    let fresh = fixture.container.newContext()
    for (number, id) in ids.enumerated() {
      let person = try fresh.existingObject(Person.self, with: id)
      let found = person.map { MergeReference.Values(age: $0.age, nickname: $0.nickname) }
      guard found == reference.rows[number]?.values else {
        throw GraphMismatch("\(label): row \(number) is \(String(describing: found))")
      }
      for (context, copies) in reference.copies.enumerated() {
        guard let copy = copies[number], !copy.isDeleted else { continue }
        let here: Person = contexts[context].object(with: id)
        guard here.age == copy.values.age, here.nickname == copy.values.nickname else {
          throw GraphMismatch("\(label): person \(number) differs in \(context)")
        }
      }
    }
  }
}

@Suite("Random changes in two contexts")
struct MergeModelTests {
  @Test(
    .evidence("C-02"), arguments: MergeReference.Policy.allCases,
    TestScale.seeds(quick: 1, all: 4))
  func `random merges equal those of a plain reference`(
    policy: MergeReference.Policy, seed: UInt64
  ) throws {
    let run = try MergeRun(policy, seed: seed)
    do {
      try run.run(steps: 300)
    } catch {
      Issue.record("\(policy), seed \(seed): \(error)")
    }
    // With a chosen seed, possibly no save conflicts.
    #expect((run.refusalCount > 0) == (policy == .error) || TestScale.chosenSeeds != nil)
  }

  /// Properties that a child has not edited have the values of the parent, so `.overwrite` differs.
  @Test(
    .evidence("N-05"), .evidence("C-02"), .evidence("C-10"),
    arguments: MergeReference.Policy.allCases.filter { $0 != .overwrite },
    TestScale.seeds(quick: 1, all: 4))
  func `random merges of changes in child contexts equal those of a plain reference`(
    policy: MergeReference.Policy, seed: UInt64
  ) throws {
    for depth in 1...2 {
      let run = try MergeRun(policy, depth: depth, seed: seed)
      do {
        try run.run(steps: 300)
      } catch {
        Issue.record("\(policy), depth \(depth), seed \(seed): \(error)")
      }
      #expect((run.refusalCount > 0) == (policy == .error) || TestScale.chosenSeeds != nil)
    }
  }
}
