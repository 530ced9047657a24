import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

/// A memo whose `willSave` can change a stamp, which belongs to another store.
private final class CountedMemo: ManagedObject {
  @Attribute var text: String = ""
  @Attribute var writesElsewhere: Bool = false

  override func willSave() throws {
    guard writesElsewhere, let context = managedObjectContext else { return }
    if let stamp = try context.fetch(FetchRequest<Stamp>()).first {
      if stamp.code == 0 { stamp.code = 1 }
    }
  }
}

@Suite("Saving with several stores")
struct StoreSavingTests {
  @Test(.evidence("ST-02"), arguments: StoresFixture.Kind.allCases)
  func `a save with changes in several stores throws and loses nothing`(kind: StoresFixture.Kind)
    throws
  {
    let fixture = try StoresFixture(kind)
    let id = try fixture.memo("milk", rank: 1)
    let context = fixture.context()
    context.tracksUndo = true
    try context.setQueryGenerationFrom(.current)
    let milk: Memo = context.object(with: id)
    milk.rank = 2
    let ada = Person(context: context)
    ada.name = "Ada"
    let (token, history) = (
      context.queryGenerationToken, try fixture.container.fetchHistory(after: nil).count
    )
    expect(.multipleStores, fixture.memos.path, fixture.url("people").path) { try context.save() }
    #expect(context.insertedObjects == [ada] && context.updatedObjects == [milk])
    #expect(ada.objectID.isTemporary && context.queryGenerationToken == token && context.canUndo)
    #expect(try fixture.container.fetchHistory(after: nil).count == history)
    #expect(try fixture.stored() == ["milk 1"])
    // Once the changes to one store's objects are discarded, the remaining changes can be saved.
    try context.refresh(milk, mergeChanges: false)
    try context.save()
    #expect(try fixture.stored() == ["Ada 0", "milk 1"])
    #expect(!ada.objectID.isTemporary && milk.rank == 1)
    milk.rank = 3
    try context.save()
    #expect(try fixture.stored() == ["Ada 0", "milk 3"])
  }

  @Test(.evidence("ST-02")) func `a save detects changes that callbacks make in other stores`()
    throws
  {
    let fixture = try StoresFixture()
    try fixture.container.addStore(url: fixture.url("counted"), entities: [CountedMemo.self])
    let context = fixture.context()
    let stamp = Stamp(context: context)
    try context.save()
    let memo = CountedMemo(context: context)
    memo.writesElsewhere = true
    expect(.multipleStores) { try context.save() }
    #expect(stamp.code == 1 && context.hasChanges && memo.objectID.isTemporary)
    try context.refresh(stamp, mergeChanges: false)
    memo.writesElsewhere = false
    try context.save()
    #expect(!context.hasChanges && stamp.code == 0)
  }

  @Test(.evidence("ST-02")) func `conflict detection applies to the store that is saved`() throws {
    let fixture = try StoresFixture()
    let id = try fixture.memo("milk", rank: 1)
    let context = fixture.context()
    let milk: Memo = context.object(with: id)
    #expect(milk.rank == 1)
    context.detectConflicts(for: milk)
    let ada = Person(context: context)
    expect(.multipleStores) { try context.save() }
    context.delete(ada)
    try context.save()
    try fixture.change(id) { $0.rank = 2 }
    context.detectConflicts(for: milk)
    expect(.mergeConflict) { try context.save() }
    context.rollback()
    try context.refresh(milk, mergeChanges: false)
    milk.rank = 5
    try fixture.change(id) { $0.rank = 3 }
    expect(.mergeConflict) { try context.save() }
    context.mergePolicy = .mergeByPropertyObjectTrump
    context.transactionAuthor = "me"
    try context.save()
    #expect(try fixture.stored() == ["milk 5"])
    #expect(try fixture.container.fetchHistory(after: nil).last?.author == "me")
  }

  @Test(.evidence("ST-01")) func `permanent IDs can be obtained in all stores before a save`()
    throws
  {
    let fixture = try StoresFixture()
    let context = fixture.context()
    let (ada, memo) = (Person(context: context), Memo(context: context))
    try context.obtainPermanentIDs(for: [ada, memo])
    #expect(!ada.objectID.isTemporary && !memo.objectID.isTemporary)
    let id = memo.objectID
    context.delete(ada)
    try context.save()
    #expect(memo.objectID == id)
    #expect(try fixture.stored() == [" 0"])
  }

  @Test(.evidence("ST-01"), .evidence("I-01"))
  func `a save continues although rows of another store are missing`() throws {
    let fixture = try StoresFixture()
    let id = try fixture.memo("milk", rank: 1)
    let context = fixture.context()
    let milk: Memo = context.object(with: id)
    let strict = fixture.context()
    strict.shouldDeleteInaccessibleFaults = false
    let strictMilk: Memo = strict.object(with: id)
    let other = fixture.context()
    other.delete(other.object(Memo.self, with: id))
    try other.save()
    #expect(milk.text == "" && milk.isDeleted)
    try context.save()
    #expect(!context.hasChanges)
    #expect(strictMilk.text == "" && strictMilk.isFault)
    // Reads from the other stores throw the same error.
    expect(.missingObject) { _ = try strict.fetch(FetchRequest<Person>()) }
    #expect((strict.faultError as? ObjectGraphError)?.objectID == id)
    strict.reset()
    #expect(try strict.fetch(FetchRequest<Person>()).isEmpty)
  }
}
