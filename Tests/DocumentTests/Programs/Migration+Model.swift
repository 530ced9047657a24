import Foundation
import Heartwood

enum V1 {
  final class Person: ManagedObject {
    @Attribute var age: String = ""
    @ToOne var team: Team?
  }
  final class Team: ManagedObject {
    @Attribute var name: String = ""
    @ToMany(inverse: \Person.team) var members: Set<Person>
  }
  static let schema = Schema(version: 1, Person.self, Team.self, Settings.self)
}

final class Person: ManagedObject {
  @Attribute var age: String = ""  // used only by the stage
  @Attribute var years: Int = 0
  @ToOne var team: Team?
}

final class Team: ManagedObject {
  @Attribute var name: String = ""
  @ToMany(inverse: \Person.team) var members: Set<Person>
}

/// A class without relationships that does not change between the versions.
final class Settings: ManagedObject {
  @Attribute var colour: String = ""
}

func openTeams(at url: URL) throws -> PersistentContainer {
  let schema = Schema(version: 2, Person.self, Team.self, Settings.self)
  var options = ContainerOptions()
  options.stages = [
    .custom(
      from: V1.schema, to: schema,
      didMigrate: { context in
        for person in try context.fetchBatched(FetchRequest<Person>()) {
          person.years = Int(person.age) ?? 0
        }
      })
  ]
  return try PersistentContainer(url: url, schema: schema, options: options)
}

@main struct Program {
  static func main() throws {
    let url = URL(filePath: "teams")
    let old = try PersistentContainer(url: url, schema: V1.schema)
    let context = old.newContext()
    let person = V1.Person(context: context)
    person.age = "42"
    person.team = V1.Team(context: context)
    person.team?.name = "Blue"
    Settings(context: context).colour = "red"
    try context.save()

    let new = try openTeams(at: url).newContext()
    for person in try new.fetch(FetchRequest<Person>()) {
      print("\(person.years), \(person.team?.name ?? "none")")
    }
    print(try new.fetch(FetchRequest<Settings>()).map(\.colour))
  }
}
