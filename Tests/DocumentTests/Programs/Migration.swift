import Foundation
import Heartwood

final class Person: ManagedObject {
  @Attribute(renamedFrom: "name") var fullName: String = ""  // renamed
  @Attribute var email: String = "unknown"  // new
  @Attribute var age: Int = 0  // was `Int32?`
  @ToMany(inverse: \Team.members, renamedFrom: "team") var teams: Set<Team>  // was `@ToOne`
}

final class Team: ManagedObject {
  @ToMany var members: Set<Person>
}

func open(_ url: URL) throws -> PersistentContainer {
  let container = try PersistentContainer(
    url: url, schema: Schema(version: 2, Person.self, Team.self))

  return container
}
