import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

@Suite("Containers")
struct ContainerTests {
  @Test(.evidence("K-01"))
  func `in-memory containers with the same name share a store while one exists`() throws {
    let name = "shared \(UUID())"
    func count(_ container: PersistentContainer) throws -> Int {
      let context = container.newContext()
      return try context.count(for: FetchRequest<Person>())
    }
    do {
      let first = try PersistentContainer.inMemory(name: name, schema: people)
      let second = try PersistentContainer.inMemory(name: name, schema: people)
      let context = first.newContext()
      Person(context: context).name = "Ada"
      try context.save()
      #expect(try count(second) == 1)
      #expect(try count(.inMemory(name: "\(name)!", schema: people)) == 0)
      #expect(try count(.inMemory(schema: people)) == 0)
      #expect(try second.store.verify().findings.isEmpty)
    }
    #expect(try count(.inMemory(name: name, schema: people)) == 0)
  }

  @Test(.evidence("K-02")) func `a container can be opened asynchronously`() async throws {
    let scratch = try ScratchDirectory()
    let url = URL(filePath: scratch.path + "/store")
    do {
      let container = try await PersistentContainer.open(url: url, schema: people)
      try await container.performBackgroundTask { context in
        Person(context: context).name = "Ada"
        try context.save()
      }
      try container.store.close()
    }
    let container = try await PersistentContainer.open(url: url, schema: people)
    let count = try await container.performBackgroundTask { context in
      try context.count(for: FetchRequest<Person>())
    }
    #expect(count == 1)
    await #expect(throws: ObjectGraphError.self) {
      try await PersistentContainer.open(
        url: URL(filePath: scratch.path + "/other"), schema: Schema(Broken.self))
    }
    #expect(try container.store.verify().findings.isEmpty)
  }

  @Test(.evidence("QG-12")) func `a background task can be pinned to a generation`() async throws {
    let fixture = try GraphFixture()
    let id = try fixture.person("Ada", age: 1)
    let context = fixture.context()
    try context.setQueryGenerationFrom(.current)
    #expect(try context.existingObject(Person.self, with: id)?.age == 1)
    let token = context.queryGenerationToken
    try fixture.change(id) { $0.age = 2 }
    func age(_ token: QueryGenerationToken?) async throws -> Int? {
      try await fixture.container.performBackgroundTask(pinnedTo: token) { context in
        try context.existingObject(Person.self, with: id)?.age
      }
    }
    #expect(try await age(token) == 1)
    #expect(try await age(nil) == 2)
    #expect(context.queryGenerationToken == token)
  }
}

extension ContainerTests {
  @Test(.evidence("K-03"))
  func `a pinned context moves to the newest generation after a suspension`() throws {
    let fixture = try GraphFixture()
    let id = try fixture.person("Ada", age: 1)
    let context = fixture.context()
    try context.setQueryGenerationFrom(.current)
    let ada = try #require(try context.existingObject(Person.self, with: id))
    let token = context.queryGenerationToken
    try fixture.change(id) { $0.age = 2 }
    try fixture.container.suspend()
    let error = #expect(throws: StorageError.self) {
      try context.count(for: FetchRequest<Person>())
    }
    #expect(error?.kind == .suspended)
    try fixture.container.resume()
    #expect(try context.fetch(FetchRequest<Person>()) == [ada] && ada.age == 2)
    #expect(context.queryGenerationToken != token && context.queryGenerationToken != nil)
    try fixture.change(id) { $0.age = 3 }
    #expect(try context.fetch(FetchRequest<Person>()) == [ada] && ada.age == 2)
  }
}

/// A class that makes every schema invalid.
private final class Broken: ManagedObject {
  @ToMany var others: Set<Broken>
}
