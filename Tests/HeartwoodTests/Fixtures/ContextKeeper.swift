import Heartwood

/// A fixture that keeps its contexts alive, as their objects need.
protocol ContextKeeper: AnyObject {
  var container: PersistentContainer { get }
  /// The contexts that were made.
  var contexts: [ManagedObjectContext] { get set }
}

extension ContextKeeper {
  /// A new context, which lives as long as the test, as its objects need.
  func context() -> ManagedObjectContext {
    let context = container.newContext()
    contexts.append(context)
    return context
  }

  /// A new context below another, which lives as long as the test.
  func child(of parent: ManagedObjectContext) -> ManagedObjectContext {
    let child = ManagedObjectContext(parent: parent)
    contexts.append(child)
    return child
  }

  /// A person in the store, as another context would have left it.
  @discardableResult
  func person(_ name: String, age: Int = 0, cars: Int = 0) throws -> ManagedObjectID {
    let context = context()
    let person = Person(context: context)
    person.name = name
    person.age = age
    for number in 0..<cars {
      let car = Car(context: context)
      car.name = "\(name)'s car \(number)"
      car.owner = person
    }
    try context.save()
    return person.objectID
  }
}
