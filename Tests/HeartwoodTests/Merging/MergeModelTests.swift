import Heartwood
import HeartwoodTestSupport
import Testing

/// Changes and deletes the same people in two contexts, and makes the same changes to a reference.
private final class MergeRun {
  private static let count = 8

  private let fixture: GraphFixture
  private let policy: MergeReference.Policy
  private let contexts: [ManagedObjectContext]
  private let ids: [ManagedObjectID]
  private var reference = MergeReference(count: MergeRun.count)
  private var random: SeededGenerator
  private(set) var refusalCount = 0

  init(_ policy: MergeReference.Policy, seed: UInt64) throws {
    let fixture = try GraphFixture()
    self.fixture = fixture
    self.policy = policy
    ids = try (0..<Self.count).map { try fixture.person("\($0)") }
    contexts = (0..<2).map { _ in fixture.context() }
    random = SeededGenerator(seed: seed)
    for context in contexts {
      context.retainsRegisteredObjects = true
      context.mergePolicy =
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
      default: try save(context)
      }
      try check("step \(step)")
    }
  }

  /// Loads a person in a context.
  ///
  /// - Returns: The person, or `nil` if it was deleted in the context or in the store.
  private func person(_ number: Int, _ context: Int) throws -> Person? {
    let person = try contexts[context].existingObject(Person.self, with: ids[number])
    let isThere = reference.load(number, context)
    guard (person.map { !$0.isDeleted } ?? false) == isThere else {
      throw GraphMismatch("person \(number) is \(isThere ? "" : "not ")to be in \(context)")
    }
    return isThere ? person : nil
  }

  private func change(_ number: Int, _ context: Int) throws {
    guard let person = try person(number, context) else { return }
    if random.isTrue(in256: 128) {
      let age = random.below(4)
      person.age = age
      reference.set(number, context, .age) { $0.age = age }
    } else {
      let nickname = random.isTrue(in256: 128) ? "n\(random.below(3))" : nil
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
    let succeeds = reference.save(context, policy)
    do {
      try contexts[context].save()
      guard succeeds else { throw GraphMismatch("the save did not detect a conflict") }
    } catch let error as ObjectGraphError where error.kind == .mergeConflict && !succeeds {
      refusalCount += 1
      // Discard the context's changes, so that the context reads the store again.
      contexts[context].reset()
      reference.copies[context] = [:]
    }
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
    #expect((run.refusalCount > 0) == (policy == .error))
  }
}
