import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

/// Tests each row of the table in `Docs/Reference/ProgrammerErrors.md`.
@Suite("Programmer errors")
struct ProgrammerErrorTests {
  private func message(_ result: ExitTest.Result?) -> String {
    String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
  }

  @Test(.spawning, .evidence("X-01")) func `using an object in another context traps`() async {
    let inserted = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let container = try PersistentContainer.inMemory(schema: orders)
      let contexts = (container.newContext(), container.newContext())
      contexts.1.insert(Order(context: contexts.0))
    }
    #expect(message(inserted).contains("cannot be inserted into this one"))
    let related = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let container = try PersistentContainer.inMemory(schema: orders)
      let contexts = (container.newContext(), container.newContext())
      Order(context: contexts.0).lines.append(OrderLine(context: contexts.1))
    }
    #expect(message(related).contains("look it up in this context"))
    let deleted = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let container = try PersistentContainer.inMemory(schema: orders)
      let contexts = (container.newContext(), container.newContext())
      contexts.1.delete(Order(context: contexts.0))
    }
    #expect(message(deleted).contains("cannot be deleted"))
  }

  @Test(.spawning, .evidence("X-02")) func `inserting an object that has a row traps`() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let container = try PersistentContainer.inMemory(schema: orders)
      let context = container.newContext()
      let order = Order(context: context)
      try context.save()
      context.reset()
      context.insert(order)
    }
    #expect(message(result).contains("has a row"))
    let deleted = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let container = try PersistentContainer.inMemory(schema: orders)
      let context = container.newContext()
      let order = Order(context: context)
      try context.save()
      context.delete(order)
      context.reset()
      guard !order.isDeleted else { return }
      context.insert(order)
    }
    #expect(message(deleted).contains("has a row"))
  }

  @Test(.spawning, .evidence("X-03"))
  func `inserting an object of an unknown or abstract class traps`() async {
    let unknown = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let container = try PersistentContainer.inMemory(schema: orders)
      _ = Person(context: container.newContext())
    }
    #expect(message(unknown).contains("is not part of the model"))
    let abstract = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let container = try PersistentContainer.inMemory(schema: Schema(Figure.self, Square.self))
      _ = Figure(context: container.newContext())
    }
    #expect(message(abstract).contains("is abstract"))
  }

  @Test(.spawning, .evidence("X-04")) func `asking an object without a context for its ID traps`()
    async
  {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      print(Order().objectID)
    }
    #expect(message(result).contains("has no ID"))
  }

  @Test(.spawning, .evidence("X-05")) func `looking up an ID of another class or container traps`()
    async
  {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let container = try PersistentContainer.inMemory(schema: orders)
      let context = container.newContext()
      let order = Order(context: context)
      _ = context.object(Piece.self, with: order.objectID)
    }
    #expect(message(result).contains("does not identify an object of class"))
  }

  @Test(.spawning, .evidence("X-06")) func `executing a custom type of batch request traps`() async
  {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let container = try PersistentContainer.inMemory(schema: orders)
      try container.newContext().execute(OwnRequest())
    }
    #expect(message(result).contains("not a batch request"))
  }

  @Test(.spawning, .evidence("X-07")) func `a position outside a list traps`() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let container = try PersistentContainer.inMemory(schema: orders)
      let controller = FetchedResultsController(
        fetchRequest: FetchRequest<Order>(sort: [SortDescriptor(\.title)]),
        context: container.newContext())
      try controller.performFetch()
      _ = controller.object(at: 0)
    }
    #expect(message(result).contains("not in the list"))
  }
}

/// A batch request of a custom type, which no context can execute.
private struct OwnRequest: BatchRequest {}

/// An abstract class.
class Figure: ManagedObject {
  @Attribute var name: String = ""

  override class var entity: Entity { Entity("Figure", isAbstract: true) }
}

final class Square: Figure {
  @Attribute var side: Int = 0
}
