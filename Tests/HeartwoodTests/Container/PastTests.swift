import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

@Suite("Earlier generations")
struct PastTests {
  private func names(_ context: ManagedObjectContext) throws -> [String] {
    try context.fetch(FetchRequest<Person>(sort: [SortDescriptor(\.name)])).map(\.name)
  }

  @Test(.evidence("QG-53")) func `a named generation stays readable until its name is released`()
    throws
  {
    let fixture = try GraphFixture()
    let container = fixture.container
    try fixture.person("Ada")
    let start = Date.now
    try container.keepGeneration(.current, as: "first")
    let token = try #require(try container.keptGeneration("first"))
    try fixture.person("Bob")
    try container.keepGeneration(.current, as: "second")
    try container.keepGeneration(token, as: "first")
    try container.keepGeneration(token, as: "also first")
    #expect(throws: StorageError.self) { try container.keepGeneration(.current, as: "first") }
    #expect(throws: StorageError.self) { try container.keepGeneration(.current, as: "") }
    let kept = try container.namedGenerations
    #expect(kept.map(\.name) == ["also first", "first", "second"])
    #expect(kept[0].token == token && kept[1].token == token && kept[2].token != token)
    #expect(kept.allSatisfy { abs($0.date.timeIntervalSince(start)) < 600 })
    #expect(kept[0].date <= kept[2].date)
    try container.releaseGeneration("also first")
    try fixture.person("Cid")
    try fixture.waitUntilOnlyKept(2)
    try container.store.checkpoint()
    #expect(try container.read(at: token) { try names($0) } == ["Ada"])
    try container.releaseGeneration("first")
    #expect(try container.keptGeneration("first") == nil)
    #expect(try container.namedGenerations.map(\.name) == ["second"])
    try fixture.waitUntilOnlyKept(1)
    try container.store.checkpoint()
    let error = #expect(throws: StorageError.self) {
      try container.read(at: token) { try names($0) }
    }
    #expect(error?.kind == .generationExpired)
  }

  @Test(.evidence("QG-53"), .evidence("QG-51")) func `a named generation survives a restart`()
    throws
  {
    let scratch = try ScratchDirectory()
    let url = URL(filePath: scratch.path(of: "store"))
    func add(_ name: String, to container: PersistentContainer) throws {
      let context = container.newContext()
      Person(context: context).name = name
      try context.save()
    }
    do {
      let container = try PersistentContainer(url: url, schema: people)
      try add("Ada", to: container)
      try container.keepGeneration(.current, as: "before-import")
      try add("Bob", to: container)
      try container.store.close()
    }
    let container = try PersistentContainer(url: url, schema: people)
    try add("Cid", to: container)
    let token = try #require(try container.keptGeneration("before-import"))
    #expect(try container.read(at: token) { try names($0) } == ["Ada"])
    #expect(try container.changes(from: token, to: .current).inserted.count == 2)
    #expect(try container.store.verify().findings.isEmpty)
  }

  @Test(.evidence("QG-56")) func `an earlier generation can be read by token or by time`() throws {
    let fixture = try GraphFixture()
    let container = fixture.container
    let long = Date.now - 3600
    let id = try fixture.person("Ada", age: 1)
    try container.keepGeneration(.current, as: "first")
    let first = try #require(try container.namedGenerations.first)
    // Commit times have a resolution of one millisecond.
    while Date.now < first.date + 0.002 {}
    let between = Date.now
    while Date.now < between + 0.002 {}
    try fixture.change(id) { $0.age = 2 }
    let newest = try fixture.token()
    #expect(try container.generation(at: between) == first.token)
    #expect(try container.generation(at: first.date) == first.token)
    #expect(try container.generation(at: Date.now + 1) == newest)
    #expect(try container.generation(at: long) == nil)
    func age(_ context: ManagedObjectContext) throws -> Int? {
      try context.existingObject(Person.self, with: id)?.age
    }
    #expect(try container.read(at: first.token, age) == 1)
    #expect(try container.read(at: between, age) == 1)
    #expect(try container.read(at: .current, age) == 2)
    let error = #expect(throws: StorageError.self) { try container.read(at: long, age) }
    #expect(error?.kind == .generationExpired)
    let context = try container.newContext(pinnedTo: first.token)
    #expect(try age(context) == 1 && context.queryGenerationToken == first.token)
    withExtendedLifetime(context) {}
  }

  @Test(.evidence("K-03")) func `a suspended container releases its generations`() throws {
    let fixture = try GraphFixture()
    let id = try fixture.person("Ada", age: 1)
    let context = fixture.context()
    try context.setQueryGenerationFrom(.current)
    let ada = try #require(try context.existingObject(Person.self, with: id))
    let loose = fixture.context()
    #expect(try loose.count(for: FetchRequest<Person>()) == 1)
    ada.nickname = "mine"
    try fixture.change(id) { $0.age = 2 }
    try fixture.container.suspend()
    try fixture.container.suspend()
    #expect(context.queryGenerationToken == .current)
    let error = #expect(throws: StorageError.self) {
      try context.count(for: FetchRequest<Person>())
    }
    #expect(error?.kind == .suspended)
    #expect(throws: StorageError.self) { try context.save() }
    try fixture.container.resume()
    #expect(try loose.count(for: FetchRequest<Person>()) == 1)
    #expect(context.queryGenerationToken == .current)
    #expect(ada.age == 1 && ada.nickname == "mine")
    try context.refresh(ada, mergeChanges: true)
    #expect(ada.age == 2 && ada.nickname == "mine")
    #expect(context.queryGenerationToken != .current)
    try context.save()
    #expect(try fixture.stored(id)?.age == 2)
  }
}

extension GraphFixture {
  /// Waits until only the named generations and the newest generation are retained.
  ///
  /// - Parameter count: The expected number of named generations.
  func waitUntilOnlyKept(_ count: Int) throws {
    while true {
      let newest = try container.store.snapshot().generation
      let others = try container.store.liveGenerations().filter {
        $0.names.isEmpty && $0.generation != newest
      }
      if others.isEmpty { break }
      Thread.sleep(forTimeInterval: 0.02)
    }
    #expect(Set(try container.store.namedGenerations().values).count == count)
  }
}
