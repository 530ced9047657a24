import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

@Suite("Upserts")
struct UpsertTests {
  /// Saves an order with a line, a piece, a label, an invoice and a customer.
  private func store(_ fixture: GraphFixture) throws -> ManagedObjectID {
    try fixture.saved { context in
      let order = Purchase(context: context)
      (order.number, order.code, order.note, order.weight) = (7, "old", "stored", 1.5)
      let line = Article(context: context)
      line.text = "stored"
      order.lines = [line]
      let piece = Parcel(context: context)
      piece.name = "stored"
      order.pieces = [piece]
      let label = Sticker(context: context)
      label.name = "stored"
      order.labels = [label]
      let invoice = Bill(context: context)
      invoice.name = "stored"
      order.invoice = invoice
      let customer = Buyer(context: context)
      customer.name = "stored"
      order.customer = customer
      return order
    }.objectID
  }

  /// Creates an order with the same number as the stored order, and with a line, a piece and a
  /// label.
  private func make(_ context: ManagedObjectContext) -> Purchase {
    let order = Purchase(context: context)
    (order.number, order.note) = (7, "new")
    let line = Article(context: context)
    line.text = "new"
    order.lines = [line]
    let piece = Parcel(context: context)
    piece.name = "new"
    piece.order = order
    let label = Sticker(context: context)
    label.name = "new"
    label.orders = [order]
    return order
  }

  @Test(
    .evidence("C-03"), .evidence("C-06"), .evidence("C-07"), .evidence("C-11"), .evidence("C-12"),
    arguments: MergePolicy.Each.allCases)
  func `a new object takes over the row with its unique values, including relationships`(
    policy: MergePolicy.Each
  ) throws {
    let fixture = try GraphFixture(purchases)
    let id = try store(fixture)
    let context = fixture.context()
    context.mergePolicy = policy.policy
    let order = make(context)
    let temporary = order.objectID
    guard policy != .error else {
      let error = try #require(throws: ObjectGraphError.self) { try context.save() }
      return #expect(error.kind == .constraintConflict)
    }
    try context.save()
    #expect(order.objectID == id && order.managedObjectContext === context && !order.isFault)
    #expect(try context.existingObject(Purchase.self, with: temporary) === order)
    let wins = policy.prefersMine
    #expect(order.note == (wins ? "new" : "stored"))
    // The following properties were not set in the new object.
    #expect(order.code == (policy == .overwrite ? nil : "old"))
    #expect(order.weight == (policy == .overwrite ? 0 : 1.5))
    #expect(order.customer?.name == (policy == .overwrite ? nil : "stored"))
    #expect(order.invoice?.name == (policy == .overwrite ? nil : "stored"))
    #expect(order.lines.map(\.text) == ["stored", "new"])
    #expect(order.pieces.map(\.name).sorted() == ["new", "stored"])
    #expect(order.labels.map(\.name).sorted() == ["new", "stored"])
    try fixture.expectAgreement(in: context)
    try fixture.stored { fresh in
      try fixture.expectAgreement(in: fresh)
      let found = try #require(try fresh.fetch(FetchRequest<Purchase>()).first)
      #expect(found.objectID == id && found.lines.count == 2 && found.lineCount == 2)
      let owned = try fresh.count(for: FetchRequest<Article>(where: #Predicate { $0.order != nil }))
      #expect(owned == 2)
    }
    // After the order is deleted, nothing may refer to its row.
    context.delete(order)
    try context.save()
    try fixture.stored { fresh in
      let pieces = try fresh.fetch(FetchRequest<Parcel>())
      let labels = try fresh.fetch(FetchRequest<Sticker>())
      let lines = try fresh.count(for: FetchRequest<Article>())
      #expect(lines == 0 && pieces.allSatisfy { $0.order == nil })
      #expect(labels.allSatisfy { $0.orders.isEmpty })
      try fixture.expectAgreement(in: fresh)
    }
  }

  @Test(.evidence("C-12"), .evidence("U-01"), arguments: MergePolicy.Each.allCases)
  func `the registered object keeps its row, and the new one stays readable`(
    policy: MergePolicy.Each
  ) throws {
    guard policy != .error else { return }
    let fixture = try GraphFixture(purchases)
    let id = try store(fixture)
    let context = fixture.context()
    context.mergePolicy = policy.policy
    let known = try #require(try context.existingObject(Purchase.self, with: id))
    #expect(known.labels.count == 1)
    let new = make(context)
    let line = try #require(new.lines.first)
    try context.save()
    #expect(new.objectID == id && new.managedObjectContext == nil && !new.isDeleted)
    #expect(new.note == known.note && new.note == (policy.prefersMine ? "new" : "stored"))
    #expect(new.customer == nil && new.lines == [] && new.labels == [])
    #expect(line.order === known && known.lines.last === line)
    #expect(known.labels.allSatisfy { $0.orders == [known] } && known.labels.count == 2)
    try fixture.expectAgreement(in: context)
    #expect(try context.existingObject(Purchase.self, with: new.objectID) === known)
    new.note = "nobody hears this"
    #expect(!context.hasChanges)
  }

  @Test(.evidence("C-13"), .evidence("C-03"), arguments: MergePolicy.Each.allCases)
  func `several new objects become the same row in their order`(policy: MergePolicy.Each) throws {
    guard policy != .error else { return }
    let fixture = try GraphFixture(purchases)
    let id = try store(fixture)
    let context = fixture.context()
    context.mergePolicy = policy.policy
    let all = (1...3).map { position in
      let order = Purchase(context: context)
      order.number = position == 3 ? 8 : 7
      order.note = "\(position)"
      if position == 1 { order.weight = 9 }
      let line = Article(context: context)
      line.text = "\(position)"
      order.lines.append(line)
      return order
    }
    let twin = Purchase(context: context)
    (twin.number, twin.code) = (8, "twin")
    try context.save()
    #expect(all.map { $0.objectID == id } == [true, true, false])
    #expect(twin.objectID == all[2].objectID && !twin.objectID.isTemporary)
    try fixture.stored { fresh in
      let found = try fresh.fetch(FetchRequest<Purchase>(sort: [SortDescriptor(\.number)]))
      #expect(found.map(\.number) == [7, 8])
      #expect(found[0].note == (policy.prefersMine ? "2" : "stored"))
      // Of the two orders numbered 7, only the first had its weight set.
      let weight = policy == .overwrite ? 0 : policy.prefersMine ? 9 : 1.5
      #expect(found[0].weight == weight)
      #expect(found[0].lines.map(\.text) == ["stored", "1", "2"])
      #expect(found[1].code == (policy.prefersMine ? "twin" : nil))
      #expect(found[1].lines.map(\.text) == ["3"])
      try fixture.expectAgreement(in: fresh)
    }
    try fixture.expectAgreement(in: context)
  }

  @Test(.evidence("C-13"), arguments: MergePolicy.Each.allCases)
  func `a new object can become a row changed or deleted in the same context`(
    policy: MergePolicy.Each
  ) throws {
    guard policy != .error else { return }
    let fixture = try GraphFixture(purchases)
    let id = try store(fixture)
    let context = fixture.context()
    context.mergePolicy = policy.policy
    let known = try #require(try context.existingObject(Purchase.self, with: id))
    known.weight = 3
    let new = Purchase(context: context)
    (new.number, new.note) = (7, "new")
    try context.save()
    #expect(new.objectID == id && known.note == (policy.prefersMine ? "new" : "stored"))
    #expect(known.weight == (policy == .overwrite ? 0 : 3))
    // The order's former number is available again.
    known.number = 9
    let free = Purchase(context: context)
    free.number = 7
    try context.save()
    #expect(free.objectID != id && free.managedObjectContext === context)
    context.delete(free)
    let next = Purchase(context: context)
    next.number = 7
    try context.save()
    #expect(next.objectID != free.objectID && free.isDeleted)
    #expect(try fixture.stored { try $0.count(for: FetchRequest<Purchase>()) } == 2)
  }

  @Test(.evidence("C-14"), arguments: MergePolicy.Each.allCases)
  func `a new object that would become two rows throws`(policy: MergePolicy.Each) throws {
    let fixture = try GraphFixture(purchases)
    _ = try store(fixture)
    try fixture.saved { context in
      let other = Purchase(context: context)
      (other.number, other.code) = (8, "other")
    }
    let context = fixture.context()
    context.mergePolicy = policy.policy
    func kind(_ body: () throws -> Void) throws -> ObjectGraphError.Kind? {
      defer { context.rollback() }
      try body()
      return try #require(throws: ObjectGraphError.self) { try context.save() }.kind
    }
    let both = try kind {
      let new = Purchase(context: context)
      (new.number, new.code) = (7, "other")
    }
    #expect(both == .constraintConflict)
    let changed = try kind {
      let known = try context.fetch(FetchRequest<Purchase>(where: #Predicate { $0.number == 7 }))
      known.first?.number = 8
    }
    #expect(changed == .constraintConflict)
    #expect(try fixture.stored { try $0.count(for: FetchRequest<Purchase>()) } == 2)
  }

  @Test(.evidence("C-15"), .evidence("H-02"))
  func `an upsert is an update in the history, for observers and for lists`() async throws {
    let fixture = try GraphFixture(purchases)
    let id = try store(fixture)
    let context = fixture.context()
    context.mergePolicy = .mergeByPropertyObjectTrump
    let list = FetchedResultsController(
      fetchRequest: FetchRequest<Purchase>(sort: [SortDescriptor(\.number)]), context: context)
    try list.performFetch()
    let token = try fixture.container.currentHistoryToken
    var changes = context.changes.makeAsyncIterator()
    _ = make(context)
    try context.save()
    #expect(list.fetchedObjects.map(\.objectID) == [id])
    let history = try fixture.container.fetchHistory(after: token).flatMap(\.changes)
    let own = history.filter { $0.objectID == id }
    #expect(own.count == 1)
    guard case .update(let properties)? = own.first?.kind else {
      Issue.record("\(own)")
      return
    }
    #expect(properties.isSuperset(of: ["note", "lines", "pieces", "labels", "lineCount"]))
    while let change = await changes.next(isolation: nil) {
      guard change.kind == .didSave else { continue }
      #expect(change.updated.contains(id) && !change.inserted.contains(id))
      #expect(change.inserted.count == 3)
      break
    }
  }

  @Test(.evidence("C-06"), .evidence("C-12"))
  func `an upsert shows relationships changed by others on both sides`() throws {
    let fixture = try GraphFixture(purchases)
    let id = try store(fixture)
    let context = fixture.context()
    context.mergePolicy = .mergeByPropertyObjectTrump
    let label = Sticker(context: context)
    try context.save()
    #expect(label.orders.isEmpty)
    let others = fixture.context()
    let row: Purchase = others.object(with: id)
    row.labels.insert(others.object(with: label.objectID))
    try others.save()
    // This save does not reread what the other context changed.
    Sticker(context: context).name = "another"
    try context.save()
    let order = Purchase(context: context)
    order.number = 7
    try context.save()
    #expect(order.objectID == id && order.labels.contains(label) && label.orders == [order])
    try fixture.expectAgreement(in: context)
  }

  @Test(.evidence("C-16")) func `the time of upserts grows linearly`() throws {
    func seconds(_ count: Int) throws -> Double {
      let fixture = try GraphFixture(purchases)
      for _ in 0..<2 {
        let context = fixture.context()
        context.mergePolicy = .mergeByPropertyObjectTrump
        for number in 0..<count { Purchase(context: context).number = number }
        let seconds = try ThreadTime.seconds { try context.save() }
        if fixture.contexts.count == 2 { return seconds }
      }
      return 0
    }
    let few = try seconds(TestScale.pick(quick: 250, all: 500))
    let many = try seconds(TestScale.pick(quick: 2000, all: 4000))
    // With quadratic time, the ratio would be 64.
    #expect(many < few * 30, "\(few) s, \(many) s for eight times as many")
  }

  @Test(.evidence("BR-02"), .evidence("C-11"), .evidence("C-13"))
  func `a batch insert upserts like a save`() throws {
    let fixture = try GraphFixture(purchases)
    let id = try store(fixture)
    for policy in MergePolicy.Each.allCases where policy != .error {
      let context = fixture.context()
      context.mergePolicy = policy.policy
      var notes = ["first", "second"]
      let request = BatchInsertRequest<Purchase> { row in
        guard let note = notes.popLast() else { return true }
        row[\.number] = 7
        row[\.note] = note + policy.rawValue
        return false
      }
      try context.execute(request)
      try fixture.stored { fresh in
        let found = try #require(try fresh.existingObject(Purchase.self, with: id))
        #expect(try fresh.count(for: FetchRequest<Purchase>()) == 1)
        #expect(found.lines.count == 1 && found.customer != nil)
        if policy.prefersMine { #expect(found.note == "first" + policy.rawValue) }
      }
    }
  }

  @Test(
    .evidence("C-11"), .evidence("BR-02"), arguments: [MergePolicy.Each.objectTrump, .overwrite])
  func `an upsert keeps the derived attributes of the row`(policy: MergePolicy.Each) throws {
    let fixture = try GraphFixture(crew)
    let member = try fixture.saved { context in
      let member = CrewMember(context: context)
      member.code = "a"
      member.jobs = [CrewJob(context: context), CrewJob(context: context)]
      return member
    }
    let context = fixture.context()
    context.mergePolicy = policy.policy
    var isMade = false
    try context.execute(
      BatchInsertRequest<CrewMember> { row in
        row[\.code] = "a"
        row[\.title] = "Ärger"
        defer { isMade = true }
        return isMade
      })
    let found = try #require(
      try fixture.context().existingObject(CrewMember.self, with: member.objectID))
    #expect(found.jobCount == 2 && found.search == "arger" && found.jobs.count == 2)
  }

  @Test(.evidence("C-07"), .evidence("C-11"), arguments: MergePolicy.Each.allCases)
  func `members that join again through another object are kept on both sides`(
    _ policy: MergePolicy.Each
  ) throws {
    guard policy != .error else { return }
    let fixture = try GraphFixture(crew)
    let context = fixture.context()
    context.mergePolicy = policy.policy
    let (job, member) = (CrewJob(context: context), CrewMember(context: context))
    let tag = CrewTag(context: context)
    tag.name = "t"
    (job.labels, member.tags) = ([tag], [tag])
    try context.save()
    (job.labels, member.tags) = ([], [])
    let again = CrewTag(context: context)
    again.name = "t"
    (job.labels, member.tags) = ([again], [again])
    try context.save()
    #expect(job.labels == [tag] && member.tags == [tag])
    #expect(tag.jobs == [job] && tag.members == [member])
    let other = fixture.context()
    let stored = try #require(try other.fetch(FetchRequest<CrewTag>()).first)
    #expect(stored.jobs.count == 1 && stored.members.count == 1)
    #expect(stored.jobs.first?.labels == [stored] && stored.members.first?.tags == [stored])
  }

  @Test(.evidence("C-12"))
  func `an upsert in a pinned context shows the values of the newest row`() throws {
    let fixture = try GraphFixture(crew)
    let writer = fixture.context()
    let tag = CrewTag(context: writer)
    try writer.save()
    let context = fixture.context()
    context.mergePolicy = .rollback
    try context.setQueryGenerationFrom(.current)
    let mine: CrewTag = context.object(with: tag.objectID)
    #expect(mine.name == nil)
    tag.name = "stored"
    try writer.save()
    mine.name = "mine"
    let new = CrewTag(context: context)
    new.name = "stored"
    try context.save()
    #expect(new.name == "stored" && new.objectID == tag.objectID && mine.name == "stored")
  }
}
