import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

private final class Chest: ManagedObject {
  @Attribute var name: String = ""
  @OrderedToMany(inverse: \Coin.chest, deleteRule: .cascade) var coins: [Coin]
  @ToMany(inverse: \Coin.bag) var bagged: Set<Coin>
  @OrderedToMany(inverse: \Coin.lists) var list: [Coin]
  @ToOne(inverse: \Coin.lid) var lid: Coin?
}

private final class Coin: ManagedObject {
  @Attribute var name: String = ""
  @ToOne var chest: Chest?
  @ToOne var bag: Chest?
  @ToMany var lists: Set<Chest>
  @ToOne var lid: Chest?
}

/// Tests undo if the undone changes overlap with other changes, deletions and faults.
@Suite("Undoing changes that overlap with others")
struct UndoneOverlapTests {
  private let fixture: GraphFixture
  private let context: ManagedObjectContext
  private let others: ManagedObjectContext

  init() throws {
    fixture = try GraphFixture(Schema(Chest.self, Coin.self))
    (context, others) = (fixture.context(), fixture.context())
    context.tracksUndo = true
    try fixture.saved { context in
      for name in ["a", "b"] { Chest(context: context).name = name }
      for name in ["1", "2", "3"] { Coin(context: context).name = name }
    }
  }

  private func chest(_ name: String, _ context: ManagedObjectContext) throws -> Chest {
    let request = FetchRequest<Chest>(where: #Predicate { $0.name == name })
    return try #require(try context.fetch(request).first)
  }

  private func coin(_ name: String, _ context: ManagedObjectContext) throws -> Coin {
    let request = FetchRequest<Coin>(where: #Predicate { $0.name == name })
    return try #require(try context.fetch(request).first)
  }

  /// Expects that no changes remain, and that a save writes nothing.
  private func expectUnchanged() throws {
    #expect(!context.hasChanges && !context.canUndo)
    let token = try fixture.container.currentHistoryToken
    try context.save()
    #expect(try fixture.container.currentHistoryToken == token)
  }

  @Test(.evidence("G-02"))
  func `a one-to-one pair that others have saved is kept`() throws {
    let chest = try chest("a", context)
    try self.chest("a", others).lid = coin("1", others)
    try others.save()
    let coin = try coin("1", context)
    chest.lid = coin
    context.undo()
    try expectUnchanged()
    context.refreshAllObjects()
    #expect(chest.lid === coin && coin.lid === chest)
  }

  @Test(.evidence("G-02"))
  func `the deletion of a one-to-one partner that others have deleted leaves no edit`() throws {
    try fixture.saved { try self.chest("a", $0).lid = self.coin("1", $0) }
    let (chest, coin) = (try chest("a", context), try coin("1", context))
    context.delete(coin)
    others.delete(try self.coin("1", others))
    try others.save()
    context.refreshAllObjects()
    context.undo()
    try expectUnchanged()
    #expect(chest.lid == nil && coin.isDeleted)
  }

  @Test(.evidence("G-01"), .evidence("R-01"))
  func `the deletion of an owner to which a member was moved is undone twice`() throws {
    let (first, second) = (try chest("a", context), try chest("b", context))
    let coin = try coin("1", context)
    first.bagged.insert(coin)
    context.endUndoGroup()
    coin.bag = second
    context.delete(second)
    context.undo()
    context.redo()
    context.undo()
    #expect(coin.bag === first && first.bagged == [coin] && second.bagged.isEmpty)
    try context.save()
    #expect(try chest("a", fixture.context()).bagged.count == 1)
  }

  @Test(.evidence("G-01"))
  func `a cascade is undone twice in the same order`() throws {
    try fixture.saved { try self.chest("a", $0).coins = [self.coin("1", $0)] }
    let chest = try chest("a", context)
    chest.coins.append(try coin("2", context))
    context.endUndoGroup()
    context.delete(chest)
    context.undo()
    #expect(chest.coins.map(\.name) == ["1", "2"])
    context.redo()
    context.undo()
    #expect(chest.coins.map(\.name) == ["1", "2"])
  }

  @Test(.evidence("G-02"), arguments: [false, true])
  func `the addition of a member whose row others have deleted leaves the order of others`(
    removesFirst: Bool
  ) throws {
    try fixture.saved { try self.chest("a", $0).list = [self.coin("1", $0), self.coin("2", $0)] }
    let chest = try chest("a", context)
    let coins = try ["1", "2", "3"].map { try coin($0, context) }
    if removesFirst { chest.list.removeFirst() }
    try self.chest("a", others).list = [coin("2", others), coin("1", others)]
    others.delete(try coin("3", others))
    try others.save()
    context.refreshAllObjects()
    chest.list.append(coins[2])
    context.refreshAllObjects()
    context.undo()
    try expectUnchanged()
    #expect(try self.chest("a", fixture.context()).list.map(\.name) == ["2", "1"])
  }

  @Test(.evidence("G-02"), .evidence("I-01"))
  func `an object that was inserted again without a row is not restored`() throws {
    let coin = try coin("1", context)
    context.refreshAllObjects()
    others.delete(try self.coin("1", others))
    try others.save()
    context.delete(coin)
    context.endUndoGroup()
    context.insert(coin)
    #expect(coin.isInserted)
    while context.canUndo { context.undo() }
    try expectUnchanged()
  }

  @Test(.evidence("G-02"))
  func `a shared addition beside another addition leaves no conflict`() throws {
    let chest = try chest("a", context)
    let coins = try ["1", "2"].map { try coin($0, context) }
    coins[0].bag = chest
    try coin("1", others).bag = self.chest("a", others)
    try others.save()
    coins[1].bag = chest
    context.undo()
    try expectUnchanged()
  }

  @Test(.evidence("G-02"), .evidence("I-01"), arguments: [false, true])
  func `a member that others have added to a deleted owner is kept`(isCascade: Bool) throws {
    let (chest, coin) = (try chest("a", context), try coin("1", context))
    context.delete(chest)
    context.endUndoGroup()
    let theirs = try self.coin("1", others)
    if isCascade {
      theirs.chest = try self.chest("a", others)
    } else {
      theirs.bag = try self.chest("a", others)
    }
    try others.save()
    context.refreshAllObjects()
    context.insert(chest)
    context.undo()
    #expect(chest.isDeleted && !coin.isDeleted)
    context.undo()
    try expectUnchanged()
    context.refreshAllObjects()
    #expect(isCascade ? chest.coins == [coin] : chest.bagged == [coin])
  }
}
