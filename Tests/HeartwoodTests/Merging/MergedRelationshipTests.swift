import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

@Suite("Relationships changed by two contexts")
struct MergedRelationshipTests {
  private let fixture: GraphFixture
  private let id: ManagedObjectID

  /// Stores an order with the lines `a`, `b` and `c`.
  init() throws {
    fixture = try GraphFixture(purchases)
    id = try fixture.saved { context in
      let order = Purchase(context: context)
      order.number = 1
      for text in ["a", "b", "c"] {
        let line = Article(context: context)
        (line.text, line.order) = (text, order)
      }
      return order
    }.objectID
  }

  private func order(_ context: ManagedObjectContext) throws -> Purchase {
    try #require(try context.existingObject(Purchase.self, with: id))
  }

  private func line(_ text: String, _ context: ManagedObjectContext) -> Article {
    let line = Article(context: context)
    line.text = text
    return line
  }

  /// Saves the changes `mine` in one context after another context has saved the changes `theirs`.
  ///
  /// - Returns: The texts of the order's lines, or "gone" if the order was deleted.
  private func merged(
    _ policy: MergePolicy.Each, mine: (Purchase, ManagedObjectContext) throws -> Void,
    theirs: (Purchase, ManagedObjectContext) throws -> Void
  ) throws -> String {
    let context = fixture.context()
    context.mergePolicy = policy.policy
    let own = try order(context)
    #expect(own.lines.count == 3)
    try mine(own, context)
    try fixture.saved { try theirs(try order($0), $0) }
    try context.save()
    let shown = own.isDeleted ? "gone" : own.lines.map(\.text).joined()
    try fixture.expectAgreement(in: context)
    try fixture.stored { fresh in
      try fixture.expectAgreement(in: fresh)
      let stored = try fresh.existingObject(Purchase.self, with: id)
      #expect(shown == stored?.lines.map(\.text).joined() ?? "gone")
    }
    return shown
  }

  @Test(.evidence("C-07"), .evidence("C-09"), arguments: MergePolicy.Each.allCases)
  func `ordered members from both contexts are merged`(policy: MergePolicy.Each) throws {
    guard policy != .error else { return }
    let result = try merged(policy) { order, context in
      order.lines.append(line("m", context))
    } theirs: { order, context in
      order.lines.insert(line("t", context), at: 1)
    }
    #expect(result == "atbcm")
  }

  @Test(.evidence("C-09"), arguments: MergePolicy.Each.allCases)
  func `members inserted at the start are merged, mine first`(
    policy: MergePolicy.Each
  ) throws {
    guard policy != .error else { return }
    let result = try merged(policy) { order, context in
      order.lines.insert(line("m", context), at: 0)
    } theirs: { order, context in
      order.lines.insert(line("t", context), at: 0)
    }
    #expect(result == (policy == .rollback ? "tabcm" : "mtabc"))
  }

  @Test(.evidence("C-09"), arguments: MergePolicy.Each.allCases)
  func `the order changed by one context wins`(policy: MergePolicy.Each) throws {
    guard policy != .error, policy != .rollback else { return }
    let mine = try merged(policy) { order, _ in
      order.lines.reverse()
    } theirs: { order, context in
      order.lines.append(line("t", context))
    }
    #expect(mine == "cbat")
  }

  @Test(.evidence("C-09"), arguments: MergePolicy.Each.allCases)
  func `the merge policy chooses between two changed orders`(policy: MergePolicy.Each) throws {
    guard policy != .error else { return }
    let result = try merged(policy) { order, _ in
      order.lines.reverse()
    } theirs: { order, _ in
      order.lines = [order.lines[1], order.lines[0], order.lines[2]]
    }
    #expect(result == (policy.prefersMine ? "cba" : "bac"))
  }

  @Test(.evidence("C-07"), .evidence("C-06"), arguments: MergePolicy.Each.allCases)
  func `a member deleted by another context is not listed`(policy: MergePolicy.Each) throws {
    guard policy != .error else { return }
    let result = try merged(policy) { order, _ in
      order.lines.reverse()
    } theirs: { order, context in
      context.delete(order.lines[1])
    }
    #expect(result == (policy == .rollback ? "ac" : "ca"))
  }

  @Test(.evidence("C-10"), .evidence("C-06"), arguments: MergePolicy.Each.allCases)
  func `both sides agree after a deletion conflicts with a new member`(
    policy: MergePolicy.Each
  ) throws {
    guard policy != .error else { return }
    let context = fixture.context()
    context.mergePolicy = policy.policy
    context.delete(try order(context))
    try fixture.saved { other in try order(other).lines.append(line("t", other)) }
    try context.save()
    try fixture.stored { fresh in
      try fixture.expectAgreement(in: fresh)
      let strings = try fresh.fetch(FetchRequest<Article>()).map(\.text)
      #expect(strings == (policy.prefersMine ? [] : ["t"]))
      #expect(try fresh.count(for: FetchRequest<Purchase>()) == (policy.prefersMine ? 0 : 1))
    }
    try fixture.expectAgreement(in: context)
  }

  @Test(.evidence("C-02"), .evidence("C-06"), arguments: MergePolicy.Each.allCases)
  func `both sides agree after a new member conflicts with a deletion`(
    policy: MergePolicy.Each
  ) throws {
    guard policy != .error else { return }
    let result = try merged(policy) { order, context in
      order.lines.append(line("m", context))
    } theirs: { order, context in
      context.delete(order)
    }
    #expect(result == (policy.prefersMine ? "m" : "gone"))
    let left = try fixture.stored { try $0.fetch(FetchRequest<Article>()).map(\.text) }
    #expect(left == ["m"])
  }

  @Test(.evidence("C-08"), .evidence("C-06"), arguments: MergePolicy.Each.allCases)
  func `a one-to-one relationship never has three participants`(policy: MergePolicy.Each) throws {
    let context = fixture.context()
    context.mergePolicy = policy.policy
    let own = try order(context)
    #expect(own.invoice == nil)
    let mine = Bill(context: context)
    (mine.name, own.invoice) = ("mine", mine)
    try fixture.saved { other in
      let theirs = Bill(context: other)
      (theirs.name, theirs.order) = ("theirs", try order(other))
    }
    guard policy != .error else {
      #expect(throws: ObjectGraphError.self) { try context.save() }
      return
    }
    try context.save()
    #expect(own.invoice?.name == (policy.prefersMine ? "mine" : "theirs"))
    #expect(mine.order === (policy.prefersMine ? own : nil))
    try fixture.expectAgreement(in: context)
    try fixture.stored { try fixture.expectAgreement(in: $0) }
  }

  @Test(.evidence("C-05")) func `reverting by hand leaves a relationship unchanged`() throws {
    let context = fixture.context()
    context.mergePolicy = .overwrite
    let own = try order(context)
    let (lines, extra) = (own.lines, Article(context: context))
    own.lines.append(extra)
    own.lines.removeLast()
    own.lines.reverse()
    own.lines = lines
    own.note = "changed"
    own.note = ""
    context.delete(extra)
    try fixture.saved { try order($0).note = "theirs" }
    let token = try #require(try fixture.container.currentHistoryToken)
    try context.save()
    #expect(try fixture.stored { try order($0).note } == "theirs")
    #expect(try fixture.container.fetchHistory(after: token).isEmpty)
    context.mergePolicy = .error
    own.weight = 4
    own.weight = 0
    try context.save()
  }

  @Test(.evidence("C-06"), arguments: MergePolicy.Each.allCases)
  func `no relationship refers to a missing row`(policy: MergePolicy.Each) throws {
    let hint = try fixture.saved { context in Hint(context: context) }.objectID
    let context = fixture.context()
    context.mergePolicy = policy.policy
    let mine = line("mine", context)
    mine.hint = context.object(with: hint)
    try fixture.saved { $0.delete($0.object(Hint.self, with: hint)) }
    if policy == .error {
      let error = try #require(throws: ObjectGraphError.self) { try context.save() }
      #expect(error.kind == .mergeConflict && error.message.contains("hint"))
      context.mergePolicy = .overwrite
    }
    try context.save()
    #expect(mine.hint == nil)
    // Next, delete the target in the context that sets the relationship.
    context.mergePolicy = policy.policy
    let own = try context.fetch(FetchRequest<Article>())
    let other = Hint(context: context)
    try context.save()
    context.delete(other)
    own[0].hint = other
    let new = Hint(context: context)
    own[1].hint = new
    context.delete(new)
    try context.save()
    try fixture.stored { fresh in
      let hinted = FetchRequest<Article>(where: #Predicate { $0.hint != nil })
      let count = try fresh.count(for: hinted)
      #expect(count == 0)
    }
  }

  @Test(
    .evidence("C-07"), .evidence("H-02"), .evidence("F-09"),
    arguments: MergePolicy.Each.allCases)
  func `all contexts show the same relationships after merging`(policy: MergePolicy.Each) throws {
    guard policy != .error else { return }
    let label = try fixture.saved { context in
      let label = Sticker(context: context)
      label.name = "label"
      return label
    }.objectID
    let context = fixture.context()
    context.mergePolicy = policy.policy
    let fetching = fixture.context()
    let merging = fixture.context()
    let following = fixture.context()
    following.automaticallyMergesChangesFromParent = true
    for other in [fetching, merging, following] {
      other.retainsRegisteredObjects = true
      try fixture.expectAgreement(in: other)
    }
    let token = try #require(try fixture.container.currentHistoryToken)
    let own = try order(context)
    own.labels = [context.object(with: label)]
    own.note = "mine"
    // Some policies discard this context's edit to the order, but still keep the added label.
    try fixture.saved { try order($0).note = "theirs" }
    try context.save()
    for transaction in try fixture.container.fetchHistory(after: token) {
      try merging.mergeChanges(from: transaction)
    }
    for other in [context, fetching, merging, following] {
      let labels = try other.fetch(FetchRequest<Sticker>())
      let orders = try other.fetch(FetchRequest<Purchase>())
      #expect(labels.map { $0.orders.count } == [1] && orders.map { $0.labels.count } == [1])
      try fixture.expectAgreement(in: other)
    }
    // Next, one context deletes the label while another context adds it to an order.
    let joining = fixture.context()
    joining.mergePolicy = policy.policy
    let second = Purchase(context: joining)
    second.number = 2
    second.labels = [joining.object(with: label)]
    let deleting = fixture.context()
    deleting.delete(deleting.object(Sticker.self, with: label))
    let before = try #require(try fixture.container.currentHistoryToken)
    try deleting.save()
    try joining.save()
    for transaction in try fixture.container.fetchHistory(after: before) {
      try merging.mergeChanges(from: transaction)
    }
    let names = ["joining", "deleting", "fetching", "merging", "following"]
    for (other, name) in zip([joining, deleting, fetching, merging, following], names) {
      other.name = name
      try fixture.expectAgreement(in: other)
      let label = try other.fetch(FetchRequest<Sticker>()).first
      #expect((label == nil) != policy.prefersMine)
      #expect(second.labels.isEmpty == (label == nil))
    }
  }

  @Test(.evidence("C-17"), .evidence("C-06"))
  func `the saving context agrees with contexts that read other members`() throws {
    let label = try fixture.saved { context in
      let label = Sticker(context: context)
      label.name = "label"
      return label
    }.objectID
    let context = fixture.context()
    context.mergePolicy = .mergeByPropertyStoreTrump
    let own = try order(context)
    let sticker = try #require(try context.existingObject(Sticker.self, with: label))
    #expect(sticker.orders == [] && own.labels == [])
    try fixture.saved { other in
      try order(other).labels = [other.object(with: label)]
    }
    own.note = "mine"
    try context.save()
    #expect(own.labels == [sticker] && sticker.orders == [own])
  }

  @Test(.evidence("C-10"))
  func `an object to which others have added members cannot be deleted`() throws {
    let fixture = try GraphFixture()
    let id = try fixture.saved { context in Club(context: context) }.objectID
    let context = fixture.context()
    context.mergePolicy = .overwrite
    context.delete(context.object(Club.self, with: id))
    try fixture.saved { Hall(context: $0).club = $0.object(with: id) }
    let error = try #require(throws: ObjectGraphError.self) { try context.save() }
    #expect(error.kind == .deniedDelete && error.objectID == id)
    #expect(try fixture.stored { try $0.count(for: FetchRequest<Club>()) } == 1)
  }

  @Test(.evidence("C-10"), .evidence("R-05"), arguments: [false, true])
  func `a deny rule applies if the removed members remain`(isDeleted: Bool) throws {
    let fixture = try GraphFixture()
    let id = try fixture.saved { Club(context: $0) }.objectID
    let hallID = try fixture.saved { context in
      let hall = Hall(context: context)
      hall.club = context.object(with: id)
      return hall
    }.objectID
    let context = fixture.context()
    context.mergePolicy = .rollback
    let hall = context.object(Hall.self, with: hallID)
    if isDeleted { context.delete(hall) } else { hall.club = nil }
    context.delete(context.object(Club.self, with: id))
    try fixture.saved { $0.object(Hall.self, with: hallID).number = 7 }
    let error = try #require(throws: ObjectGraphError.self) { try context.save() }
    #expect(error.kind == .deniedDelete && error.objectID == id)
    let club = try fixture.stored { try $0.existingObject(Hall.self, with: hallID)?.club?.objectID }
    #expect(club == id)
  }

  @Test(.evidence("C-10"), .evidence("R-05"), arguments: MergePolicy.Each.allCases)
  func `the merge policy precedes the deny rule`(
    policy: MergePolicy.Each
  ) throws {
    let fixture = try GraphFixture()
    let id =
      try fixture.saved { context in
        let club = Club(context: context)
        club.halls = [Hall(context: context)]
        return club
      }.objectID
    let context = fixture.context()
    context.mergePolicy = policy.policy
    let club = context.object(Club.self, with: id)
    #expect(club.name == "")
    context.delete(club)
    try fixture.saved { $0.object(Club.self, with: id).name = "theirs" }
    guard policy.keepsStore else {
      let error = try #require(throws: ObjectGraphError.self) { try context.save() }
      return #expect(error.kind == (policy == .error ? .mergeConflict : .deniedDelete))
    }
    try context.save()
    #expect(!club.isDeleted && club.name == "theirs" && club.halls.count == 1)
  }

  @Test(.evidence("C-10"))
  func `objects removed from a relationship before a deletion survive it`() throws {
    let context = fixture.context()
    let own = try order(context)
    let kept = own.lines.removeFirst()
    context.delete(own)
    try context.save()
    #expect(try fixture.stored { try $0.fetch(FetchRequest<Article>()).map(\.text) } == ["a"])
    #expect(kept.order == nil && !kept.isDeleted)
  }

  @Test(.evidence("R-11"), .evidence("QG-31"))
  func `an object deleted by others keeps only members added here`() throws {
    let fixture = try GraphFixture(orders)
    let id = try fixture.saved { context in
      let order = Order(context: context)
      order.lines = [OrderLine(context: context), OrderLine(context: context)]
      order.pieces = [Piece(context: context)]
      return order
    }.objectID
    let context = fixture.context()
    let order = context.object(Order.self, with: id)
    #expect(order.lines.count == 2 && order.pieces.count == 1)
    order.title = "mine"
    let piece = Piece(context: context)
    order.pieces.insert(piece)
    let other = fixture.context()
    other.delete(other.object(Order.self, with: id))
    try other.save()
    context.refreshAllObjects()
    #expect(order.lines == [] && order.pieces == [piece] && order.title == "mine")
  }
}
