import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

@Suite("Several stores")
struct SeveralStoresTests {
  @Test(.evidence("ST-01"), arguments: StoresFixture.Kind.allCases)
  func `one context works with the objects of all stores`(kind: StoresFixture.Kind) throws {
    let fixture = try StoresFixture(kind)
    let context = fixture.context()
    let ada = Person(context: context)
    ada.name = "Ada"
    #expect(ada.managedObjectContext === context)
    try context.save()
    let memo = Memo(context: context)
    memo.text = "milk"
    let remark = Remark(context: context)
    remark.memo = memo
    #expect(memo.managedObjectContext === context && memo.remarks == [remark])
    #expect(context.insertedObjects == [memo, remark] && memo.objectID.isTemporary)
    try context.save()
    #expect(!context.hasChanges && !memo.objectID.isTemporary)
    #expect(context.registeredObjects == [ada, memo, remark])
    let ids = (ada.objectID, memo.objectID)
    // The two IDs differ only in their stores.
    #expect(ids.0 != ids.1 && ids.0.uriRepresentation.host() != ids.1.uriRepresentation.host())
    let other = fixture.context()
    let found: Memo = other.object(with: ids.1)
    #expect(found.isFault && found.text == "milk" && found.remarks.count == 1)
    #expect(try other.existingObject(Person.self, with: ids.0)?.name == "Ada")
    #expect(other.registeredObject(Memo.self, for: ids.1) === found)
    #expect(other.registeredObject(Memo.self, for: ids.0) == nil)
    found.rank = 3
    #expect(other.updatedObjects == [found])
    other.delete(try #require(found.remarks.first))
    try other.save()
    try context.refresh(memo, mergeChanges: false)
    #expect(memo.isFault && memo.rank == 3 && memo.remarks.isEmpty)
  }

  @Test(.evidence("ST-01")) func `every kind of fetch reads from the right store`() async throws {
    let fixture = try StoresFixture()
    for number in 0..<5 { try fixture.memo("memo \(number)", rank: number, remarks: 1) }
    try fixture.person("Ada", age: 7)
    let context = fixture.context()
    let request = FetchRequest<Memo>(
      where: #Predicate { $0.rank > 1 }, sort: [SortDescriptor(\.rank, order: .reverse)])
    #expect(try context.fetch(request).map(\.rank) == [4, 3, 2])
    #expect(try context.count(for: request) == 3)
    #expect(try context.fetchObjectIDs(request).map(\.entityName) == ["Memo", "Memo", "Memo"])
    #expect(try context.fetchBatched(request).map(\.rank) == [4, 3, 2])
    #expect(try await context.fetchAsync(request).map(\.rank) == [4, 3, 2])
    #expect(try context.explain(request).steps.isEmpty == false)
    let (count, sum) = try context.aggregate(request, .count, .sum(\.rank))
    #expect(count == 3 && sum == 9)
    let values = try context.fetchValues(request, \.text, \.rank)
    #expect(values.map(\.0) == ["memo 4", "memo 3", "memo 2"])
    let groups = try context.aggregate(FetchRequest<Remark>(), by: \.text, .count)
    #expect(groups.count == 5)
    var format = FetchRequest<Memo>()
    format.predicate = try QueryPredicate(format: "ANY remarks.text = 'memo 2 0'")
    #expect(try context.fetch(format).map(\.rank) == [2])
    #expect(try context.existingObject(where: \Memo.text, equals: "memo 3")?.rank == 3)
    #expect(try context.existingObject(where: \Person.name, equals: "Ada")?.age == 7)
    #expect(try context.count(for: FetchRequest<Person>()) == 1)
    expect(.unknownEntity) { _ = try context.fetch(FetchRequest<Everything>()) }
    withExtendedLifetime(context) {}
  }

  @Test(.evidence("ST-01")) func `batch requests apply to the right store`() throws {
    let fixture = try StoresFixture()
    let context = fixture.context()
    context.transactionAuthor = "importer"
    var number = 0
    let insertion = BatchInsertRequest<Memo> { row in
      guard number < 4 else { return true }
      row[\.text] = "memo \(number)"
      number += 1
      return false
    }
    #expect(try context.execute(insertion).count == 4)
    let update = BatchUpdateRequest<Memo>(where: #Predicate { $0.text == "memo 2" }) { row in
      row[\.rank] = 9
    }
    #expect(try context.execute(update).count == 1)
    let ids = try context.fetchObjectIDs(FetchRequest<Memo>(where: #Predicate { $0.rank == 0 }))
    #expect(try context.execute(BatchDeleteRequest<Memo>(objectIDs: ids)).count == 3)
    #expect(try fixture.stored() == ["memo 2 9"])
    let person = try fixture.person("Ada")
    expect(.foreignObject) {
      _ = try context.execute(BatchDeleteRequest<Memo>(objectIDs: [person]))
    }
    #expect(try fixture.container.fetchHistory(after: nil).map(\.author).first == "importer")
  }

  @Test(.evidence("ST-01"), .evidence("CH-01"))
  func `each change in any store is reported once`() async throws {
    let fixture = try StoresFixture()
    let context = fixture.context()
    let changes = context.changes
    let memo = Memo(context: context)
    let temporary = memo.objectID
    try context.save()
    let id = memo.objectID
    var seen: [ContextChange] = []
    for await change in changes {
      seen.append(change)
      if change.kind == .didSave { break }
    }
    #expect(seen.map(\.kind) == [.objectsDidChange, .willSave, .didSave])
    #expect(seen.map(\.inserted) == [[temporary], [temporary], [id]])
    let token = try #require(seen.last?.generation)
    try fixture.person("Ada")
    try fixture.change(id) { $0.rank = 1 }
    let shown = try fixture.container.read(at: token) { try $0.contents() }
    #expect(shown == [" 0"])
  }

  @Test(.evidence("ST-01")) func `objects with equal numbers in different stores stay separate`()
    throws
  {
    let fixture = try StoresFixture()
    let ids = (try fixture.person("Ada", age: 1), try fixture.memo("milk", rank: 1))
    let context = fixture.context()
    let ada: Person = context.object(with: ids.0)
    let milk: Memo = context.object(with: ids.1)
    #expect(ada.age == 1 && milk.rank == 1)
    try fixture.change(ids.1) { $0.rank = 2 }
    for transaction in try fixture.container.fetchHistory(after: nil) {
      try context.mergeChanges(from: transaction)
    }
    #expect(ada.age == 1 && milk.rank == 2)
    let other = fixture.context()
    other.delete(try #require(try other.existingObject(Person.self, with: ids.0)))
    try other.save()
    for transaction in try fixture.container.fetchHistory(after: nil) {
      try context.mergeChanges(from: transaction)
    }
    #expect(ada.isDeleted && !milk.isDeleted && milk.text == "milk")
    #expect(context.registeredObject(Memo.self, for: ids.1) === milk)
  }

  @Test(.evidence("ST-01"), .evidence("QG-35")) func `automatic merging covers all stores`() throws
  {
    let fixture = try StoresFixture()
    let ids = (try fixture.person("Ada", age: 1), try fixture.memo("milk", rank: 1))
    let context = fixture.context()
    let ada: Person = context.object(with: ids.0)
    context.automaticallyMergesChangesFromParent = true
    try context.setQueryGenerationFrom(.current)
    let milk: Memo = context.object(with: ids.1)
    #expect(ada.age == 1 && milk.rank == 1)
    try fixture.change(ids.1) { $0.rank = 2 }
    #expect(milk.rank == 1)
    // A fetch from one store merges the changes from all stores.
    #expect(try context.count(for: FetchRequest<Person>()) == 1)
    #expect(milk.rank == 2)
    let token = context.queryGenerationToken
    try fixture.change(ids.1) { $0.rank = 3 }
    try context.save()
    #expect(milk.rank == 3 && context.queryGenerationToken != token)
    let error = #expect(throws: ObjectGraphError.self) {
      try context.setQueryGenerationFrom(context.queryGenerationToken)
      try context.setQueryGenerationFrom(token)
    }
    #expect(error?.kind == .autoMergeNeedsCurrentGeneration)
  }

  @Test(.evidence("ST-01"), .evidence("ST-02"), arguments: StoresFixture.Kind.allCases)
  func `child contexts see and change objects of all stores`(kind: StoresFixture.Kind) throws {
    let fixture = try StoresFixture(kind)
    let ids = (try fixture.person("Ada", age: 1), try fixture.memo("milk", rank: 1, remarks: 2))
    let parent = fixture.context()
    let unsaved = Memo(context: parent)
    unsaved.text = "bread"
    let child = fixture.child(of: parent)
    let milk: Memo = child.object(with: ids.1)
    #expect(milk.rank == 1 && milk.remarks.count == 2 && milk.managedObjectContext === child)
    #expect(try child.contents() == ["Ada 1", "bread 0", "milk 1"])
    let ada: Person = child.object(with: ids.0)
    ada.age = 2
    milk.rank = 2
    child.delete(try #require(milk.remarks.first))
    let new = Memo(context: child)
    new.text = "tea"
    let stamp = Stamp(context: child)
    stamp.code = 5
    #expect(child.insertedObjects == [new, stamp])
    #expect(try parent.contents() == ["Ada 1", "bread 0", "milk 1"])
    // The child may save changes for several stores to its parent, but the parent cannot commit
    // them in one save.
    try child.save()
    #expect(!child.hasChanges && parent.hasChanges)
    #expect(try parent.contents() == ["5", "Ada 2", "bread 0", "milk 2", "tea 0"])
    #expect(try fixture.stored() == ["Ada 1", "milk 1"])
    expect(.multipleStores) { try parent.save() }
    let adaThere: Person = parent.object(with: ids.0)
    try parent.refresh(adaThere, mergeChanges: false)
    let stampThere = try #require(try parent.fetch(FetchRequest<Stamp>()).first)
    parent.delete(stampThere)
    try parent.save()
    #expect(try fixture.stored() == ["Ada 1", "bread 0", "milk 2", "tea 0"])
    #expect(
      !new.objectID.isTemporary && child.registeredObject(Memo.self, for: new.objectID) === new)
    expect(.childContext) { try child.setQueryGenerationFrom(.current) }
    #expect(child.queryGenerationToken == nil)
  }

  @Test(.evidence("ST-01"), .evidence("N-03"))
  func `child contexts reread objects of all stores`() throws {
    let fixture = try StoresFixture()
    let id = try fixture.memo("milk", rank: 1)
    let parent = fixture.context()
    let child = fixture.child(of: parent)
    child.automaticallyMergesChangesFromParent = true
    let childMemo: Memo = child.object(with: id)
    #expect(childMemo.rank == 1)
    let parentMemo: Memo = parent.object(with: id)
    parentMemo.rank = 2
    try parent.save()
    #expect(childMemo.rank == 2)
  }

  @Test(.evidence("ST-10")) func `undo and redo span all stores`() throws {
    let fixture = try StoresFixture()
    let id = try fixture.memo("milk", rank: 1)
    let context = fixture.context()
    context.tracksUndo = true
    let milk: Memo = context.object(with: id)
    milk.rank = 2
    let ada = Person(context: context)
    ada.name = "Ada"
    context.endUndoGroup()
    context.delete(milk)
    let stamp = Stamp(context: context)
    context.endUndoGroup()
    #expect(try context.contents() == ["0", "Ada 0"])
    context.undo()
    #expect(try context.contents() == ["Ada 0", "milk 2"])
    #expect(stamp.managedObjectContext == nil && !milk.isDeleted)
    context.undo()
    #expect(try context.contents() == ["milk 1"] && !context.hasChanges)
    context.redo()
    context.redo()
    #expect(try context.contents() == ["0", "Ada 0"] && !context.canRedo)
    #expect(stamp.managedObjectContext === context)
    context.undo()
    context.undo()
    #expect(!context.canUndo && !context.hasChanges)
    context.redo()
    context.rollback()
    #expect(!context.canRedo && !context.hasChanges && milk.rank == 1)
    #expect(try context.contents() == ["milk 1"])
  }

  @Test(.evidence("ST-10"), .evidence("G-05"))
  func `a child's changes to several stores become one undo group of its parent`() throws {
    let fixture = try StoresFixture()
    let parent = fixture.context()
    parent.tracksUndo = true
    let milk = Memo(context: parent)
    milk.text = "milk"
    let child = fixture.child(of: parent)
    Person(context: child).name = "Ada"
    Stamp(context: child).code = 7
    child.object(Memo.self, with: milk.objectID).rank = 3
    try child.save()
    #expect(try parent.contents() == ["7", "Ada 0", "milk 3"])
    parent.undo()
    #expect(try parent.contents() == ["milk 0"])
    parent.redo()
    #expect(try parent.contents() == ["7", "Ada 0", "milk 3"] && !parent.canRedo)
    parent.undo()
    parent.undo()
    #expect(try parent.contents() == [] && !parent.canUndo)
  }

  @Test(.evidence("ST-01")) func `a reset removes the objects of all stores`() throws {
    let fixture = try StoresFixture()
    try fixture.memo("milk", rank: 1)
    try fixture.person("Ada")
    let context = fixture.context()
    context.retainsRegisteredObjects = true
    _ = try context.contents()
    #expect(context.registeredObjects.count == 2)
    #expect(context.registeredObjects.allSatisfy { !$0.isFault })
    context.refreshAllObjects()
    #expect(context.registeredObjects.allSatisfy { $0.isFault })
    _ = Stamp(context: context)
    context.reset()
    #expect(context.registeredObjects.isEmpty && !context.hasChanges)
    #expect(try context.contents() == ["Ada 0", "milk 1"])
  }

  @Test func `a context that retains its objects retains those of all stores`() throws {
    let fixture = try StoresFixture()
    let id = try fixture.memo("a")
    let context = fixture.context()
    _ = try context.count(for: FetchRequest<Memo>())
    context.retainsRegisteredObjects = true
    weak let memo = try context.existingObject(Memo.self, with: id)
    #expect(memo?.text == "a")
  }
}
