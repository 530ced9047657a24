import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

private struct AccountSeal: CompositeValue, Equatable {
  var serial = 0
  var ink = ""
}

private protocol AccountObject: ManagedObject {
  var email: String { get set }
  var rank: Int { get set }
  var area: String? { get set }
  var text: String { get set }
  var note: String { get set }
  var seal: AccountSeal { get set }
}

/// A class that changes what it shows when it is fetched.
private final class ShownAccount: ManagedObject, AccountObject {
  @Attribute var email: String = ""
  @Attribute var rank: Int = 0
  @Attribute var area: String? = nil
  @Attribute var text: String = ""
  @Attribute var note: String = ""
  @Composite var seal = AccountSeal()

  override class var entity: Entity {
    Entity("Account") {
      Unique(\ShownAccount.email)
      Index(\ShownAccount.rank)
      Index(\ShownAccount.area, \ShownAccount.rank)
      TextIndex(\ShownAccount.text)
    }
  }

  override func awakeFromFetch() {
    email = email.lowercased()
    rank += 100
    area = nil
    text = "shown"
    seal.serial = 9
  }
}

/// The same class without callbacks.
private final class PlainAccount: ManagedObject, AccountObject {
  @Attribute var email: String = ""
  @Attribute var rank: Int = 0
  @Attribute var area: String? = nil
  @Attribute var text: String = ""
  @Attribute var note: String = ""
  @Composite var seal = AccountSeal()

  override class var entity: Entity {
    Entity("Account") {
      Unique(\PlainAccount.email)
      Index(\PlainAccount.rank)
      Index(\PlainAccount.area, \PlainAccount.rank)
      TextIndex(\PlainAccount.text)
    }
  }
}

/// A class whose new objects need not report changes.
private final class Gauge: ManagedObject {
  @Attribute var level: Int = 0
  @Composite var seal = AccountSeal()

  override func awakeFromFetch() {
    level += 100
    seal = AccountSeal(serial: 9, ink: "shown")
  }
}

private enum AccountEdit: CaseIterable {
  case note, email, area, text, ink, deletion

  func apply(to account: some AccountObject) {
    switch self {
    case .note: account.note = "edited"
    case .email: account.email = "B@X"
    case .area: account.area = "south"
    case .text: account.text = "green apples"
    case .ink: account.seal.ink = "green"
    case .deletion: account.managedObjectContext?.delete(account)
    }
  }
}

/// What another context does before the save.
private enum AccountRival: CaseIterable { case nothing, change, deletion }

@Suite("Values set by awakeFromFetch")
struct AwakenedValueTests {
  private func store<A: AccountObject>(_: A.Type) throws -> GraphFixture {
    let fixture = try GraphFixture(Schema(A.self))
    try fixture.saved { context in
      let account = A()
      context.insert(account)
      (account.email, account.rank, account.area) = ("A@X", 1, "north")
      (account.text, account.seal.ink) = ("red apples", "red")
    }
    return fixture
  }

  private func account<A: AccountObject>(_: A.Type, _ context: ManagedObjectContext) throws -> A {
    try #require(try context.fetch(FetchRequest<A>()).first)
  }

  /// Saves an edit, and returns what is stored afterwards.
  private func saved<A: AccountObject>(
    _: A.Type, _ edit: AccountEdit, _ policy: MergePolicy.Each, _ rival: AccountRival,
    areOn: Bool
  ) throws -> (entries: [String: [[UInt8]]], changes: [String], fastCount: Int) {
    let fixture = try store(A.self)
    let (context, other) = (fixture.context(), fixture.context())
    context.mergePolicy = policy.policy
    context.fastPaths.areOn = areOn
    edit.apply(to: try account(A.self, context))
    if rival != .nothing {
      let theirs = try account(A.self, other)
      if rival == .change { theirs.rank = 7 } else { other.delete(theirs) }
      try other.save()
    }
    var seen: [String] = []
    do {
      try context.save()
    } catch let error as ObjectGraphError {
      seen.append("\(error.kind)")
    }
    #expect(try fixture.container.verifyTextIndexes() == [])
    seen += try fixture.recordedChanges()
    return (try fixture.storedEntries(), seen, context.fastPaths.updateCount)
  }

  @Test(
    .evidence("F-13"), .evidence("C-02"), .evidence("H-02"), .evidence("TX-05"),
    arguments: AccountEdit.allCases, MergePolicy.Each.allCases)
  fileprivate func `are not stored by a save`(edit: AccountEdit, policy: MergePolicy.Each) throws {
    for rival in AccountRival.allCases {
      for areOn in [true, false] {
        let shown = try saved(ShownAccount.self, edit, policy, rival, areOn: areOn)
        let plain = try saved(PlainAccount.self, edit, policy, rival, areOn: areOn)
        #expect(shown.entries == plain.entries, "\(edit) \(policy) \(rival) \(areOn)")
        #expect(shown.changes == plain.changes, "\(edit) \(policy) \(rival) \(areOn)")
        #expect(shown.fastCount == plain.fastCount, "\(edit) \(policy) \(rival) \(areOn)")
      }
    }
  }

  @Test(.evidence("F-13"), .evidence("C-14"), .evidence("P-09"), arguments: [true, false])
  func `leave their unique values to other objects`(areOn: Bool) throws {
    let fixture = try store(ShownAccount.self)
    let context = fixture.context()
    context.fastPaths.areOn = areOn
    let account = try account(ShownAccount.self, context)
    account.note = "n"
    try context.save()
    #expect(account.email == "a@x" && account.rank == 101 && account.unreadableValues == [:])
    try fixture.saved { ShownAccount(context: $0).email = "a@x" }
    let fresh = fixture.context()
    for email in ["A@X", "a@x"] {
      let byIndex = FetchRequest<ShownAccount>(where: #Predicate { $0.email == email })
      let bySearch = FetchRequest<ShownAccount>(where: #Predicate { $0.email.contains(email) })
      #expect(try fresh.count(for: byIndex) == 1)
      #expect(try fresh.count(for: bySearch) == 1)
    }
  }

  @Test(.evidence("F-13"), .evidence("P-09"))
  func `are not found by predicates, whether or not the object has edits`() throws {
    let fixture = try store(ShownAccount.self)
    let context = fixture.context()
    let account = try account(ShownAccount.self, context)
    for note in ["", "edited"] {
      account.note = note
      for (email, count) in [("A@X", 1), ("a@x", 0)] {
        let byIndex = FetchRequest<ShownAccount>(where: #Predicate { $0.email == email })
        #expect(try context.count(for: byIndex) == count, "\(email) \(note)")
      }
    }
  }

  @Test(.evidence("F-13"), .evidence("C-05"))
  func `are edits once the program assigns them`() throws {
    let fixture = try store(ShownAccount.self)
    let context = fixture.context()
    let account = try account(ShownAccount.self, context)
    #expect(!context.hasChanges)
    account.email = account.email
    (account.rank, account.seal.ink) = (1, "green")
    try context.save()
    #expect(account.email == "a@x" && account.rank == 1)
    let stored = try QueryPredicate<ShownAccount>(
      format: "email == 'a@x' AND rank == 1 AND area == 'north' AND seal.ink == 'green' "
        + "AND seal.serial == 0")
    #expect(try fixture.context().count(for: FetchRequest(where: stored)) == 1)
  }

  @Test(.evidence("F-13"), .evidence("S-09"), arguments: [false, true], [false, true])
  func `are replaced by values set after a saved deletion`(
    isInserted: Bool, isInChild: Bool
  ) throws {
    let fixture = try GraphFixture(Schema(Gauge.self))
    try fixture.saved { Gauge(context: $0).level = 1 }
    let root = fixture.context()
    let context = isInChild ? fixture.child(of: root) : root
    let gauge = try #require(try context.fetch(FetchRequest<Gauge>()).first)
    #expect(gauge.level > 100 && gauge.seal.ink == "shown")
    context.delete(gauge)
    try context.save()
    if isInserted { context.insert(gauge) }
    (gauge.level, gauge.seal.ink) = (5, "red")
    if !isInserted { context.insert(gauge) }
    try context.save()
    if isInChild { try root.save() }
    let stored = try fixture.context().fetch(
      FetchRequest<Gauge>(where: QueryPredicate(format: "level == 5 AND seal.ink == 'red'")))
    #expect(stored.count == 1)
    #expect(try fixture.context().count(for: FetchRequest<Gauge>()) == 1)
  }

  @Test(.evidence("F-13"), .evidence("N-02"), .evidence("S-03"), .evidence("S-07"))
  func `are not edits in child contexts, and after a refresh or a rollback`() throws {
    let fixture = try store(ShownAccount.self)
    let context = fixture.context()
    let child = fixture.child(of: context)
    let below = try account(ShownAccount.self, child)
    #expect(below.rank > 100 && !child.hasChanges)
    below.note = "edited"
    try child.save()
    let account = try account(ShownAccount.self, context)
    try context.refresh(account, mergeChanges: true)
    #expect(account.note == "edited" && account.email == "a@x")
    account.email = "B@X"
    context.rollback()
    // A rollback restores the value in the row.
    #expect(account.email == "A@X" && !context.hasChanges)
    account.note = "again"
    try context.save()
    let stored = try QueryPredicate<ShownAccount>(
      format: "email == 'A@X' AND rank == 1 AND note == 'again'")
    #expect(try fixture.context().count(for: FetchRequest(where: stored)) == 1)
  }
}
