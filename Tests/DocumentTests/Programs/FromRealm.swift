import Foundation
import Heartwood

struct Address: Codable, Equatable, AttributeValue {
  var street = ""
  var city = ""
}

final class Dog: ManagedObject {
  @Attribute var code: String = ""
  @Attribute var name: String = ""
  @Attribute var toys: [String] = []
  @Attribute var kennel: Address = Address()
  @ToOne var owner: Person?

  override class var entity: Entity {
    Entity("Dog") {
      Unique(\Dog.code)
      Index(\Dog.name)
    }
  }
}

final class Person: ManagedObject {
  @Attribute var name: String = ""
  @OrderedToMany(inverse: \Dog.owner, deleteRule: .cascade) var dogs: [Dog]
}

func keepDogs(at url: URL) async throws -> [String] {
  let container = try PersistentContainer(url: url, schema: Schema(Person.self, Dog.self))

  // What `realm.write` did: changes belong to a context, and are saved together.
  let context = container.newContext()
  context.mergePolicy = .mergeByPropertyObjectTrump
  let ann = Person(context: context)
  ann.name = "Ann"
  for (code, name) in [("rex-1", "Rex"), ("max-1", "Max"), ("rex-1", "Rex II")] {
    // The third has the code of the first: it is that dog, with another name.
    let dog =
      try context.existingObject(where: \Dog.code, is: code) ?? Dog(context: context)
    dog.code = code
    dog.name = name
    if dog.owner == nil { ann.dogs.append(dog) }
  }
  try context.save()

  // What `freeze()` did.
  let frozen = container.newContext()
  try frozen.setQueryGenerationFrom(.current)
  let before = try frozen.fetch(FetchRequest<Dog>(sort: [SortDescriptor(\.name)]))

  // What a `ThreadSafeReference` did: IDs go anywhere, objects do not.
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
