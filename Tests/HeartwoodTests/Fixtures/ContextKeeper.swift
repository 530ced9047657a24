import Heartwood

/// A fixture that retains its contexts, because objects do not retain them.
protocol ContextKeeper: AnyObject {
  var container: PersistentContainer { get }
  /// The contexts that the fixture has created.
  var contexts: [ManagedObjectContext] { get set }
}

/// A root context and its descendants, each of which is a child of the context before it.
struct ContextChain {
  let contexts: [ManagedObjectContext]
  var root: ManagedObjectContext { contexts[0] }
  var child: ManagedObjectContext { contexts[contexts.count - 1] }

  /// Saves all contexts, beginning with the innermost child.
  func save() throws {
    for context in contexts.reversed() { try context.save() }
  }
}

extension ContextKeeper {
  /// Returns a new root context with the given number of levels of child contexts.
  func chain(depth: Int) -> ContextChain {
    var contexts = [context()]
    for level in 0..<depth { contexts.append(child(of: contexts[level])) }
    return ContextChain(contexts: contexts)
  }

  /// Returns a new context that is retained until the end of the test.
  func context() -> ManagedObjectContext {
    let context = container.newContext()
    contexts.append(context)
    return context
  }

  /// Returns a new child context, which is retained until the end of the test.
  func child(of parent: ManagedObjectContext) -> ManagedObjectContext {
    let child = ManagedObjectContext(parent: parent)
    contexts.append(child)
    return child
  }

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
