import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

@Suite("Upserts in child contexts")
struct NestedUpsertTests {
  private let fixture: GraphFixture
  private let root: ManagedObjectContext
  private let child: ManagedObjectContext
  private let id: ManagedObjectID

  init() throws {
    fixture = try GraphFixture(purchases)
    id =
      try fixture.saved { context in
        let order = Purchase(context: context)
        (order.number, order.code, order.note) = (7, "old", "stored")
        let line = Article(context: context)
        line.text = "stored"
        order.lines = [line]
        return order
      }.objectID
    root = fixture.context()
    child = ManagedObjectContext(parent: root)
  }

  /// Creates an order with the same number as the stored order.
  private func make(_ context: ManagedObjectContext) -> Purchase {
    let order = Purchase(context: context)
    (order.number, order.note) = (7, "new")
    let line = Article(context: context)
    line.text = "new"
    order.lines = [line]
    let label = Sticker(context: context)
    label.name = "new"
    label.orders = [order]
    return order
  }

  private func expectedNote(_ policy: MergePolicy.Each) -> String {
    policy.prefersMine ? "new" : "stored"
  }

  @Test(
    .evidence("C-12"), .evidence("U-01"), .evidence("N-02"), arguments: MergePolicy.Each.allCases)
  func `a new object becomes the object of the row in each context without another`(
    policy: MergePolicy.Each
  ) throws {
    guard policy != .error else { return }
    root.mergePolicy = policy.policy
    let known = try #require(try root.existingObject(Purchase.self, with: id))
    let new = make(child)
    let line = try #require(new.lines.first)
    try child.save()
    try root.save()
    #expect(new.objectID == id && new.managedObjectContext === child)
    #expect(child.registeredObject(Purchase.self, for: id) === new)
    #expect(new.note == expectedNote(policy) && known.note == expectedNote(policy))
    #expect(line.order === new && new.lines.map(\.text) == ["stored", "new"])
    #expect(known.lines.map(\.text) == ["stored", "new"] && known.labels.count == 1)
    try fixture.expectAgreement(in: root)
    try fixture.expectAgreement(in: child)
    #expect(!child.hasChanges && !root.hasChanges)
    new.note = "later"
    try child.save()
    try root.save()
    try fixture.stored { fresh in
      let stored = try fresh.fetch(FetchRequest<Purchase>())
      #expect(stored.map(\.note) == ["later"])
    }
  }

  @Test(.evidence("C-12"), .evidence("U-01"), arguments: MergePolicy.Each.allCases)
  func `a new object leaves each context that already has the row's object`(
    policy: MergePolicy.Each
  ) throws {
    guard policy != .error else { return }
    root.mergePolicy = policy.policy
    let grandchild = ManagedObjectContext(parent: child)
    let others = try [root, child, grandchild].map {
      try #require(try $0.existingObject(Purchase.self, with: id))
    }
    let new = make(grandchild)
    let line = try #require(new.lines.first)
    let label = try #require(new.labels.first)
    let temporary = new.objectID
    try grandchild.save()
    try child.save()
    try root.save()
    #expect(new.managedObjectContext == nil && new.objectID == id)
    #expect(new.note == expectedNote(policy))
    #expect(line.order === others[2] && label.orders == [others[2]])
    for (context, other) in zip([root, child, grandchild], others) {
      #expect(context.registeredObject(Purchase.self, for: id) === other)
      let found = try context.existingObject(Purchase.self, with: temporary)
      let fetched = try context.fetch(FetchRequest<Purchase>())
      #expect(found === other && fetched == [other])
      #expect(other.note == expectedNote(policy) && other.lines.map(\.text) == ["stored", "new"])
      #expect(other.labels.map(\.name) == ["new"] && !context.hasChanges)
      try fixture.expectAgreement(in: context)
    }
  }

  @Test(.evidence("C-12"), arguments: [MergePolicy.Each.objectTrump, .storeTrump])
  func `later edits of a replaced object are applied to its successor`(policy: MergePolicy.Each)
    throws
  {
    root.mergePolicy = policy.policy
    let known = try #require(try root.existingObject(Purchase.self, with: id))
    let other = try #require(try child.existingObject(Purchase.self, with: id))
    let new = make(child)
    try child.save()
    new.note = "edited"
    let second = Article(context: child)
    second.text = "second"
    new.lines.append(second)
    let customer = Buyer(context: child)
    new.customer = customer
    try root.save()
    #expect(new.managedObjectContext == nil && known.note == expectedNote(policy))
    #expect(other.note == "edited" && other.customer === customer && second.order === other)
    #expect(other.lines.map(\.text) == ["stored", "new", "second"])
    try child.save()
    try root.save()
    try fixture.stored { fresh in
      let stored = try fresh.fetch(FetchRequest<Purchase>())
      #expect(stored.map(\.note) == ["edited"] && stored.first?.customer != nil)
      #expect(stored.first?.lines.map(\.text) == ["stored", "new", "second"])
      try fixture.expectAgreement(in: fresh)
    }
  }

  @Test(.evidence("C-12"), .evidence("U-01"))
  func `a later deletion of a replaced object deletes its successor`() throws {
    root.mergePolicy = .mergeByPropertyObjectTrump
    let known = try #require(try root.existingObject(Purchase.self, with: id))
    let other = try #require(try child.existingObject(Purchase.self, with: id))
    let new = make(child)
    try child.save()
    child.delete(new)
    try root.save()
    #expect(other.isDeleted && !known.isDeleted)
    try child.save()
    try root.save()
    try fixture.stored { fresh in
      let count = try fresh.count(for: FetchRequest<Purchase>())
      #expect(count == 0)
    }
  }

  @Test(.evidence("C-12"), .evidence("S-03"))
  func `an edit that adds a replaced object adds its successor`() throws {
    root.mergePolicy = .mergeByPropertyObjectTrump
    let label = try fixture.saved { context in
      let label = Sticker(context: context)
      label.name = "same"
      return label
    }
    let order = try #require(try child.existingObject(Purchase.self, with: id))
    let known = try #require(try child.existingObject(Sticker.self, with: label.objectID))
    let new = Sticker(context: child)
    new.name = "same"
    try child.save()
    order.labels.insert(new)
    try root.save()
    #expect(new.managedObjectContext == nil && order.labels == [known])
    try child.refresh(order, mergeChanges: true)
    #expect(order.labels == [known] && known.orders == [order])
  }

  @Test(.evidence("C-11"), .evidence("N-02"))
  func `an object of a child counts as set only what the child has set`() throws {
    root.mergePolicy = .mergeByPropertyObjectTrump
    let order = Purchase(context: child)
    (order.number, order.note) = (7, "new")
    try child.save()
    try root.save()
    let stored = try fixture.stored { try $0.fetch(FetchRequest<Purchase>()).map(\.code) }
    #expect(stored == ["old"])
  }
}
