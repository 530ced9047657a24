import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

@Suite("Removing a store")
struct StoreRemovalTests {
  @Test(.evidence("QG-43"), arguments: StoresFixture.Kind.allCases)
  func `removing a store leaves the other stores unchanged`(kind: StoresFixture.Kind) throws {
    let fixture = try StoresFixture(kind)
    let ids = (try fixture.person("Ada", age: 1), try fixture.memo("milk", rank: 1, remarks: 1))
    let context = fixture.context()
    let fresh = fixture.context()
    let ada: Person = context.object(with: ids.0)
    let milk = try #require(try context.existingObject(Memo.self, with: ids.1))
    let remark = try #require(try context.fetch(FetchRequest<Remark>()).first)
    try context.refresh(remark, mergeChanges: false)
    try fixture.container.removeStore(url: fixture.memos)
    #expect(fixture.container.stores.count == 2)
    for context in [context, fresh, fixture.context()] {
      expect(.removedStore, fixture.memos.path) { _ = try context.fetch(FetchRequest<Memo>()) }
      expect(.removedStore) { _ = try context.count(for: FetchRequest<Remark>()) }
      expect(.removedStore) { _ = try context.fetchBatched(FetchRequest<Memo>()) }
      expect(.removedStore) { _ = try context.aggregate(FetchRequest<Memo>(), .count) }
      expect(.removedStore) {
        _ = try context.execute(BatchUpdateRequest<Memo> { row in row[\.rank] = 1 })
      }
      #expect(try context.fetch(FetchRequest<Person>()).map(\.name) == ["Ada"])
    }
    expect(.removedStore) { _ = try fresh.existingObject(Memo.self, with: ids.1) }
    expect(.removedStore) { _ = try fixture.container.versions(of: ids.1, from: .current) }
    #expect(milk.text == "milk" && milk.rank == 1 && !milk.isDeleted)
    #expect(milk.remarks.isEmpty)
    #expect(remark.text == "" && remark.isDeleted)
    let unknown: Memo = fresh.object(with: ids.1)
    #expect(unknown.text == "" && unknown.isDeleted)
    #expect(!context.hasChanges && context.faultError == nil && fresh.faultError == nil)
    context.refreshAllObjects()
    ada.age = 2
    try context.save()
    #expect(try fresh.fetch(FetchRequest<Person>()).map(\.age) == [2])
    let error = #expect(throws: StorageError.self) {
      try fixture.container.removeStore(url: fixture.memos)
    }
    #expect(error?.kind == .invalidArgument)
  }

  @Test(.evidence("QG-43"), .evidence("I-02"))
  func `faults of a removed store throw if inaccessible faults are errors`() throws {
    let fixture = try StoresFixture()
    let id = try fixture.memo("milk")
    let context = fixture.context()
    context.shouldDeleteInaccessibleFaults = false
    let milk: Memo = context.object(with: id)
    try fixture.container.removeStore(url: fixture.memos)
    #expect(milk.text == "" && milk.isFault && !milk.isDeleted)
    expect(.removedStore) { _ = try context.fetch(FetchRequest<Person>()) }
    context.reset()
    #expect(try context.fetch(FetchRequest<Person>()).isEmpty)
  }

  @Test(.evidence("QG-43"), arguments: StoresFixture.Kind.allCases)
  func `removing a store leaves pinned contexts pinned`(kind: StoresFixture.Kind) throws {
    let fixture = try StoresFixture(kind)
    let ids = (try fixture.person("Ada", age: 1), try fixture.memo("milk", rank: 1))
    let context = fixture.context()
    try context.setQueryGenerationFrom(.current)
    let milk: Memo = context.object(with: ids.1)
    #expect(try context.count(for: FetchRequest<Person>()) == 1)
    let token = try #require(context.queryGenerationToken)
    let batched = try context.fetchBatched(FetchRequest<Memo>())
    let other = fixture.context()
    try #require(try other.existingObject(Person.self, with: ids.0)).age = 2
    try other.save()
    try fixture.container.removeStore(url: fixture.memos)
    #expect(try context.fetch(FetchRequest<Person>()).map(\.age) == [1])
    #expect(milk.text == "" && milk.isDeleted && batched[0].text == "")
    expect(.removedStore) { _ = try context.fetch(FetchRequest<Memo>()) }
    // After a store is removed, a token stays valid for the other stores.
    try other.setQueryGenerationFrom(token)
    #expect(try other.fetch(FetchRequest<Person>()).map(\.age) == [1])
    expect(.removedStore) { _ = try other.fetch(FetchRequest<Memo>()) }
    try fixture.addMemos()
    try other.setQueryGenerationFrom(token)
    if kind == .inFiles { #expect(try other.contents() == ["Ada 1", "milk 1"]) }
    try context.save()
    #expect(try context.fetch(FetchRequest<Person>()).map(\.age) == [2])
  }

  @Test(.evidence("QG-44")) func `a token stays valid for its remaining stores`() throws {
    let fixture = try StoresFixture()
    try fixture.memo("milk", rank: 1)
    let own = try PersistentContainer(
      url: fixture.url("own"), schema: Schema(Everything.self), options: .init())
    let foreign = try own.read(at: .current) { context in
      _ = try context.count(for: FetchRequest<Everything>())
      return try #require(context.queryGenerationToken)
    }
    let token = try fixture.container.read(at: .current) { context in
      _ = try context.contents()
      return try #require(context.queryGenerationToken)
    }
    let context = fixture.context()
    let error = #expect(throws: StorageError.self) { try context.setQueryGenerationFrom(foreign) }
    #expect(error?.kind == .foreignStore)
    #expect(context.queryGenerationToken == nil)
    let pinned = fixture.context()
    try pinned.setQueryGenerationFrom(token)
    for name in ["people", "memos"] {
      try fixture.container.removeStore(url: fixture.url(name))
      try context.setQueryGenerationFrom(token)
      #expect(try context.fetch(FetchRequest<Stamp>()).isEmpty)
    }
    try fixture.container.addStore(url: fixture.url("more"), entities: [Everything.self])
    try fixture.container.removeStore(url: fixture.stamps)
    expect(.removedStore) { try context.setQueryGenerationFrom(token) }
    expect(.removedStore) { _ = try fixture.container.changes(from: token, to: .current) }
    expect(.removedStore) { try fixture.container.keepGeneration(token, as: "name") }
    expect(.removedStore) { _ = try fixture.container.newContext(pinnedTo: token) }
    for fetch in [
      { _ = try pinned.fetch(FetchRequest<Person>()) },
      { _ = try pinned.fetch(FetchRequest<Memo>()) },
      { _ = try pinned.fetch(FetchRequest<Stamp>()) },
    ] {
      expect(.removedStore) { try fetch() }
    }
    #expect(try own.store.verify().findings.isEmpty)
  }

  @Test(.evidence("QG-43")) func `unsaved changes of a removed store remain until rolled back`()
    throws
  {
    let fixture = try StoresFixture()
    let id = try fixture.memo("milk", rank: 1)
    let context = fixture.context()
    let milk: Memo = context.object(with: id)
    milk.rank = 2
    let new = Memo(context: context)
    try fixture.container.removeStore(url: fixture.memos)
    expect(.removedStore, fixture.memos.path) { try context.save() }
    #expect(context.insertedObjects == [new] && context.updatedObjects == [milk] && milk.rank == 2)
    let ada = Person(context: context)
    expect(.removedStore) { try context.save() }
    context.delete(new)
    try context.refresh(milk, mergeChanges: false)
    try context.save()
    #expect(!ada.objectID.isTemporary && milk.text == "")
    // Objects of the removed store's classes can still be created, but not saved.
    let late = Memo(context: context)
    late.text = "late"
    expect(.removedStore) { try context.obtainPermanentIDs(for: [late]) }
    expect(.removedStore) { try context.save() }
    context.rollback()
    #expect(!context.hasChanges)
    let child = fixture.child(of: context)
    _ = Memo(context: child)
    expect(.removedStore) { try child.save() }
    expect(.removedStore) { _ = try child.fetch(FetchRequest<Memo>()) }
  }

  @Test(.evidence("ST-05"), arguments: StoresFixture.Kind.allCases)
  func `the first store can be removed`(kind: StoresFixture.Kind) throws {
    let fixture = try StoresFixture(kind)
    let id = try fixture.memo("milk", rank: 1)
    try fixture.person("Ada")
    let context = fixture.context()
    try context.setQueryGenerationFrom(.current)
    #expect(try context.contents() == ["Ada 0", "milk 1"])
    try fixture.container.removeStore(url: fixture.url("people"))
    expect(.removedStore, fixture.url("people").path) {
      _ = try context.fetch(FetchRequest<Person>())
    }
    try fixture.change(id) { $0.rank = 2 }
    #expect(try context.fetch(FetchRequest<Memo>()).map(\.rank) == [1])
    try context.save()
    #expect(try context.fetch(FetchRequest<Memo>()).map(\.rank) == [2])
    let milk: Memo = context.object(with: id)
    milk.rank = 3
    try context.save()
    #expect(try fixture.context().fetch(FetchRequest<Memo>()).map(\.rank) == [3])
    #expect(try fixture.container.fetchHistory(after: nil).count == 3)
    // The classes of the removed store can now be assigned to another store.
    let all: [ManagedObject.Type] = [Person.self, Car.self, Club.self, Hall.self, Keeper.self]
    try fixture.container.addStore(url: fixture.url("elsewhere"), entities: all)
    let bob = Person(context: context)
    bob.name = "Bob"
    #expect(bob.managedObjectContext === context)
    try context.save()
    #expect(try fixture.context().fetch(FetchRequest<Person>()).map(\.name) == ["Bob"])
  }

  #if os(Linux)
    @Test(
      .evidence("QG-43"), .evidence("ST-05"), .evidence("LR-06"),
      arguments: [nil, QueryGenerationToken.current], [true, false])
    func `a reset after the removal of a store empties live lists and releases generations`(
      pin: QueryGenerationToken?, readsBefore: Bool
    ) throws {
      let fixture = try StoresFixture(.inFiles)
      try fixture.memo("milk", rank: 1)
      let context = fixture.context()
      let child = fixture.child(of: context)
      try context.setQueryGenerationFrom(pin)
      let lists = try [context, child].map { try FollowedResults(FetchRequest<Memo>(), $0) }
      for list in lists { #expect(list.controller.count == 1) }
      try fixture.container.removeStore(url: fixture.memos)
      if readsBefore { for list in lists { #expect(list.check().ids.isEmpty) } }
      context.reset()
      for list in lists {
        #expect(list.controller.isEmpty && list.controller.fetchedObjects.isEmpty)
        #expect(list.check().ids.isEmpty && list.news().count == 1)
      }
      #expect(context.faultError == nil && child.faultError == nil)
      fixture.letGo()
      let other = try PersistentContainer(
        url: fixture.memos, schema: Schema(Memo.self, Remark.self))
      let writer = other.newContext()
      _ = Memo(context: writer)
      try writer.save()
      writer.reset()
      let newest = try other.store.snapshot().generation
      func isHeld() throws -> Bool {
        try other.store.liveGenerations().contains { $0.generation < newest }
      }
      for _ in 0..<500 where try isHeld() { Thread.sleep(forTimeInterval: 0.02) }
      #expect(try !isHeld())
      withExtendedLifetime(lists) {}
    }

    @Test(.evidence("ST-05")) func `removing a store closes its files`() throws {
      let fixture = try StoresFixture(.inFiles)
      let id = try fixture.memo("milk", rank: 1)
      let context = fixture.container.newContext()
      try context.setQueryGenerationFrom(.current)
      #expect(try context.existingObject(Memo.self, with: id)?.rank == 1)
      try fixture.container.removeStore(url: fixture.memos)
      try fixture.container.addStore(url: fixture.url("notes"), entities: [Memo.self, Remark.self])
      try fixture.memo("bread")
      // The pinned context does not see the added store, and keeps the removed store locked.
      #expect(try context.fetch(FetchRequest<Memo>()).isEmpty)
      #expect(try hasLocks(fixture.memos))
      try context.setQueryGenerationFrom(.current)
      #expect(try context.contents() == ["bread 0"])
      context.reset()
      fixture.letGo()
      while try isOpen(fixture.memos) { Thread.sleep(forTimeInterval: 0.02) }
      #expect(try !hasLocks(fixture.memos))
      let other = try PersistentContainer(
        url: fixture.memos, schema: Schema(Memo.self, Remark.self))
      let found = try other.read(at: .current) { try $0.existingObject(Memo.self, with: id)?.rank }
      #expect(found == 1)
      #expect(try other.store.verify().findings.isEmpty)
      #expect(try context.contents() == ["bread 0"])
    }
  #endif

  @Test(.evidence("ST-05"), arguments: [true, false])
  func `adding a removed store again creates new objects`(uses: Bool) throws {
    let fixture = try StoresFixture(.inFiles)
    let id = try fixture.memo("milk", rank: 1, remarks: 1)
    let context = fixture.context()
    let old: Memo = context.object(with: id)
    if uses { #expect(old.rank == 1) }
    try fixture.container.removeStore(url: fixture.memos)
    try fixture.addMemos()
    let new = try #require(try context.existingObject(Memo.self, with: id))
    #expect(new !== old && new.rank == 1 && new.remarks.count == 1)
    #expect(old.objectID == new.objectID && old.text == (uses ? "milk" : ""))
    new.rank = 2
    try context.save()
    old.rank = 5
    if uses { expect(.removedStore) { try context.save() } }
    try context.refresh(old, mergeChanges: false)
    #expect(old.text == "" && old.isDeleted)
    #expect(try fixture.stored() == ["milk 2"])
    context.reset()
    #expect(try context.contents() == ["milk 2"])
  }

  @Test(.evidence("ST-05")) func `removing a store waits for running saves`() async throws {
    for _ in 0..<TestScale.pick(quick: 1, all: 4) {
      let fixture = try StoresFixture(.inFiles)
      let container = fixture.container
      let writer = Task.detached { () -> Int in
        let context = container.newContext()
        for number in 0..<1000 {
          let memo = Memo(context: context)
          memo.text = "memo \(number)"
          do { try context.save() } catch {
            let kind = (error as? ObjectGraphError)?.kind
            #expect(kind == .removedStore || (error as? StorageError)?.kind == .closed)
            return number
          }
        }
        return 1000
      }
      try await Task.sleep(for: .milliseconds(Int.random(in: 0..<60)))
      try container.removeStore(url: fixture.memos)
      let count = await writer.value
      try fixture.addMemos()
      #expect(try fixture.context().count(for: FetchRequest<Memo>()) == count)
    }
  }

  #if os(Linux)
    /// Returns whether any file in a directory is locked.
    private func hasLocks(_ url: URL) throws -> Bool {
      try FileManager.default.contentsOfDirectory(atPath: url.path).contains { name in
        let file = try FileHandle(forReadingFrom: url.appending(path: name))
        defer { try? file.close() }
        var request = flock()
        request.l_type = Int16(F_WRLCK)
        // `F_OFD_GETLK` reports a conflicting lock held by any other open file, even in this
        // process.
        try #require(fcntl(file.fileDescriptor, 36, &request) == 0)
        return request.l_type != Int16(F_UNLCK)
      }
    }

    /// Returns whether this process has opened or mapped any file in a directory.
    private func isOpen(_ url: URL) throws -> Bool {
      let open = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap {
        try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")
      }
      let maps = try String(contentsOfFile: "/proc/self/maps", encoding: .utf8)
      return open.contains { $0.hasPrefix(url.path + "/") } || maps.contains(url.path + "/")
    }
  #endif
}
