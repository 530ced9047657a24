// Runs the functions in Usage.swift on a store that contains the data they expect.

import Foundation
import Heartwood

@main struct Driver {
  static func main() async throws {
    let container = try PersistentContainer.inMemory(
      schema: Schema(Person.self, Car.self, Quake.self))
    let context = container.newContext()
    for number in 0..<100 {
      let person = Person(context: context)
      person.name = "dave\(number)"
      person.age = number
      let car = Car(context: context)
      car.name = "car \(number)"
      car.owner = person
    }
    try context.save()
    try queryGenerations(container)
    let names = try container.read(at: .current) { context in
      try context.fetch(FetchRequest<Person>()).map(\.name)
    }
    precondition(names.filter { $0 == "DaveUpdate" }.count == 99)
    precondition(names.filter { $0 == "NAME_23" }.count == 1)

    let start = Date(timeIntervalSinceReferenceDate: 0)
    let feed = (0..<500).map { number in
      (
        code: "nc\(number)", mag: Float(number % 60) / 10, place: "place \(number)",
        time: start + Double(number)
      )
    }
    try await earthquakes(container, feed: feed)
    // Import the same feed again, although all of its quakes are already stored.
    try await earthquakes(container, feed: feed)
    let count = try container.read(at: .current) { try $0.count(for: FetchRequest<Quake>()) }
    precondition(count == 500)
    try engine(path: CommandLine.arguments[1])
    print("all is well")
  }
}
