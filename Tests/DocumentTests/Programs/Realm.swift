import Foundation
import Heartwood

final class Dog: ManagedObject {
  @Attribute var code: String = ""
  @Attribute var name: String = ""
  @ToOne var owner: Person?

  override class var entity: Entity {
    Entity("Dog") { Unique(\Dog.code) }
  }
}

final class Person: ManagedObject {
  @Attribute var name: String = ""
  @OrderedToMany(inverse: \Dog.owner, deleteRule: .cascade) var dogs: [Dog]
}

func keepDogs(at url: URL) async throws -> [String] {
  let container = try PersistentContainer(url: url, schema: Schema(Person.self, Dog.self))

  // Instead of `realm.write`: changes belong to a context, which saves them together.
  let context = container.newContext()
  context.mergePolicy = .mergeByPropertyObjectTrump
  let ann = Person(context: context)
  ann.name = "Ann"
  for (code, name) in [("rex-1", "Rex"), ("max-1", "Max"), ("rex-1", "Rex II")] {
    // The third code equals the first, so the loop renames the first dog.
    let dog =
      try context.existingObject(where: \Dog.code, equals: code) ?? Dog(context: context)
    dog.code = code
    dog.name = name
    if dog.owner == nil { ann.dogs.append(dog) }
  }
  try context.save()

  // Instead of `freeze()`.
  let frozen = container.newContext()
  try frozen.setQueryGenerationFrom(.current)
  let before = try frozen.fetch(FetchRequest<Dog>(sort: [SortDescriptor(\.name)]))

  // Instead of a `ThreadSafeReference`: pass IDs between threads, not objects.
  let id = ann.objectID
  try await container.performBackgroundTask { context in
    if let ann = try context.existingObject(with: id) { context.delete(ann) }
    try context.save()
  }
  return before.map(\.name)
}

@main struct Program {
  static func main() async throws {
    print(try await keepDogs(at: URL(filePath: "dogs")))
  }
}
