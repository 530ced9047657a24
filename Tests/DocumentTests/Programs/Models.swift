import Foundation
import Heartwood

class Person: ManagedObject {
  @Attribute var name: String = ""
  @Attribute var email: String? = nil
  @ToOne var company: Company?

  override class var entity: Entity {
    Entity("Person") {
      Unique(\Person.email)
      Index(\Person.name)
    }
  }
}

final class Employee: Person {
  @Attribute var staffNumber: Int = 0

  override class var entity: Entity {
    Entity("Employee") { Unique(\Employee.staffNumber) }
  }
}

final class Customer: Person {
  @Attribute var discount: Double = 0

  override class var entity: Entity { Entity("Customer") }
}

final class Company: ManagedObject {
  @Attribute var name: String = ""
  @Attribute var searchName: String = ""
  @Attribute var headCount: Int = 0
  @Attribute var changed: Date = .distantPast
  @ToMany(inverse: \Person.company) var people: Set<Person>

  override class var entity: Entity {
    Entity("Company") {
      Derived(\Company.searchName, .canonical(\Company.name))
      Derived(\Company.headCount, .count(\Company.people))
      Derived(\Company.changed, .now)
      Index(\Company.searchName)
    }
  }
}

struct Address: CompositeValue {
  var street = ""
  var city: String? = nil
}

final class Shop: ManagedObject {
  @Attribute var name: String = ""
  @Composite var address = Address()

  override class var entity: Entity { Entity("Shop") { Index(\Shop.address.city) } }
}

func shopsInOslo() -> FetchRequest<Shop> {
  let shops = FetchRequest<Shop>(
    where: #Predicate { $0.address.city == "Oslo" }, sort: [SortDescriptor(\.address.street)])
  return shops
}

final class Cat: ManagedObject {
  @Attribute var name: String = ""
  @ToOne var mate: Cat?
  @ToMany var friends: Set<Cat>
  @ToOne var mother: Cat?
  @ToMany(inverse: \Cat.mother) var kittens: Set<Cat>

  override class var entity: Entity {
    Entity("Cat") {
      Inverse(\Cat.mate, \Cat.mate)
      Inverse(\Cat.friends, \Cat.friends)
    }
  }
}

func befriend(_ first: Cat, _ second: Cat) {
  guard !first.$friends.contains(second), first.$friends.count < 1000 else { return }
  first.$friends.insert(second)
}

func makeContainer() throws -> PersistentContainer {
  let schema = Schema(Person.self, Employee.self, Customer.self, Company.self, Cat.self)
  return try PersistentContainer.inMemory(schema: schema)
}

func fill(_ context: ManagedObjectContext) throws {
  let company = Company(context: context)
  company.name = "Café Zoë"
  let ada = Employee(context: context)
  ada.name = "Ada"
  ada.email = "ada@example.com"
  ada.staffNumber = 7
  let bob = Customer(context: context)
  bob.name = "Bob"
  bob.discount = 0.1
  let cid = Person(context: context)
  cid.name = "Cid"
  company.people = [ada, bob, cid]
  try context.save()
}

func showPeople(_ context: ManagedObjectContext) throws {
  let everybody = FetchRequest<Person>(sort: [SortDescriptor(\.name)])
  for person in try context.fetch(everybody) {
    switch person {
    case let employee as Employee: print("\(employee.name), staff number \(employee.staffNumber)")
    case let customer as Customer: print("\(customer.name), discount \(customer.discount)")
    default: print(person.name)
    }
  }

  var others = everybody
  others.includesSubentities = false
  print("\(try context.count(for: everybody)), \(try context.count(for: others)) of them neither")

  let seven = #Predicate<Person> { ($0 as? Employee)?.staffNumber == 7 }
  print(try context.fetch(FetchRequest<Person>(where: seven)).map(\.name))
  print(try context.fetch(FetchRequest<Employee>()).map(\.name))
}

@main struct Program {
  static func main() throws {
    let context = try makeContainer().newContext()
    try fill(context)
    try showPeople(context)
    for company in try context.fetch(FetchRequest<Company>()) {
      print("\(company.searchName): \(company.headCount)")
    }
    let twin = Customer(context: context)
    twin.email = "ada@example.com"
    context.mergePolicy = .mergeByPropertyObjectTrump
    do {
      try context.save()
    } catch let error as ObjectGraphError {
      print(error.kind)
      context.rollback()
    }
    let cats = [Cat(context: context), Cat(context: context)]
    cats[0].mate = cats[1]
    befriend(cats[1], cats[0])
    cats[0].kittens.insert(Cat(context: context))
    print(cats[1].mate === cats[0], cats[0].friends.contains(cats[1]))
    try context.save()
  }
}
