import Foundation
import Heartwood

final class Quake: ManagedObject {
  @Attribute var code: String = ""
  @Attribute var magnitude: Float = 0
  @Attribute var depth: Double = 0
  @Attribute var network: String = ""
  @Attribute var place: String = ""
  @Attribute var time: Date = .distantPast

  override class var entity: Entity {
    Entity("Quake") {
      Unique(\Quake.code)
      Index(\Quake.time)
      Index(\Quake.network, \Quake.magnitude)
    }
  }
}

final class Person: ManagedObject {
  @Attribute var name: String = ""
  @ToMany(inverse: \Car.owner) var cars: Set<Car>
}

final class Car: ManagedObject {
  @Attribute var name: String = ""
  @Attribute var topSpeed: Int = 0
  @ToOne var owner: Person?
}

final class Message: ManagedObject {
  @Attribute var isRead: Bool = false
}

func ask(_ context: ManagedObjectContext) throws {
  let floor: Float = 4.5
  let request = FetchRequest<Quake>(
    where: #Predicate { $0.magnitude >= floor },
    sort: [SortDescriptor(\.time, order: .reverse)], limit: 100)
  for quake in try context.fetch(request) { print(quake.time, quake.magnitude, quake.place) }

  print(try context.explain(request))
}

func askInAllWays(_ context: ManagedObjectContext, _ request: FetchRequest<Quake>) async throws {
  _ = try context.fetch(request)
  _ = try await context.fetchAsync(request)
  _ = try context.fetchBatched(request)
  _ = try context.fetchObjectIDs(request)
  _ = try context.count(for: request)
  _ = try context.aggregate(request, .count, .max(\.magnitude))
  _ = try context.aggregate(request, by: \.network, .count, .average(\.depth))
  _ = try context.fetchValues(request, \.code, \.place)
}

func group(_ context: ManagedObjectContext) throws {
  let groups: [AggregateGroup<String, (Int, Float?)>] =
    try context.aggregate(FetchRequest<Quake>(), by: \.network, .count, .max(\.magnitude))
  for group in groups {
    let (count, strongest) = group.values
    print("\(group.key): \(count) quakes, the strongest \(strongest ?? 0)")
  }
}

func page(_ context: ManagedObjectContext) throws {
  let request = FetchRequest<Quake>(sort: [SortDescriptor(\.time)], limit: 20)
  var page = try context.fetch(request)
  while let last = page.last {
    page = try context.fetch(request.after(last))
  }
}

func askOthers() -> Predicate<Person> {
  #Predicate<Person> { person in
    person.cars.contains { $0.name == "DB5" } && person.cars.count > 1
  }
}

func join(_ request: inout FetchRequest<Car>, _ name: String) throws {
  let mine = try QueryPredicate<Car>(format: "owner.name ==[c] %@", name)
  request.predicate = QueryPredicate(#Predicate { $0.topSpeed > 200 }) && mine
}

func changeMany(_ context: ManagedObjectContext, _ limit: Date) throws {
  let isNew = #Predicate<Message> { !$0.isRead }
  try context.execute(BatchUpdateRequest(where: isNew) { $0[\.isRead] = true })
  try context.execute(BatchDeleteRequest<Quake>(where: #Predicate { $0.time < limit }))
}
