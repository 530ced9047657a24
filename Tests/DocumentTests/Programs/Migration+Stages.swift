import Foundation
import Heartwood

enum V1 {
  final class Person: ManagedObject {
    @Attribute var first: String = ""
    @Attribute var last: String = ""
    @Attribute var phone: Int = 0
  }
  static let schema = Schema(version: 1, Person.self)
}

enum V2 {
  final class Person: ManagedObject {
    @Attribute var first: String = ""
    @Attribute var last: String = ""
    @Attribute var phone: Int = 0
    @Attribute var name: String = ""
    @Attribute var phoneText: String = ""
  }
  static let schema = Schema(version: 2, Person.self)
}

/// The class that the program uses.
final class Person: ManagedObject {
  @Attribute var name: String = ""
  @Attribute(renamedFrom: "phoneText") var phone: String = ""
}

func openContacts(at url: URL) throws -> PersistentContainer {
  var options = ContainerOptions()
  options.stages = [
    .custom(
      from: V1.schema, to: V2.schema,
      willMigrate: { context in
        for person in try context.fetch(FetchRequest<V1.Person>()) where person.last.isEmpty {
          context.delete(person)
        }
      },
      didMigrate: { context in
        for person in try context.fetchBatched(FetchRequest<V2.Person>()) {
          person.name = "\(person.first) \(person.last)"
          person.phoneText = "+\(person.phone)"
        }
      })
  ]
  options.progress = { progress in
    print("\(progress.entityName): \(progress.completedCount) of \(progress.totalCount)")
  }
  return try PersistentContainer(
    url: url, schema: Schema(version: 3, Person.self), options: options)
}
