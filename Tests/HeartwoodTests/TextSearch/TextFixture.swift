import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

/// A note whose title and body can be searched.
class Essay: ManagedObject {
  @Attribute var title: String = ""
  @Attribute var body: String? = nil
  @Attribute var isArchived: Bool = false
  @Attribute var rank: Int = 0
  @Attribute(.unique) var code: String? = nil

  override class var entity: Entity {
    Entity("Essay") {
      TextIndex(\Essay.title, \Essay.body, weights: [2, 1])
      Index(\Essay.rank)
    }
  }
}

/// A kind of note, which inherits the text index.
final class Epistle: Essay {
  @Attribute var sender: String = ""
}

let essays = Schema(Essay.self, Epistle.self)

/// A store of essays, whose text index is checked when the test ends.
final class TextFixture {
  let container: PersistentContainer
  private var contexts: [ManagedObjectContext] = []

  init(_ schema: Schema = essays) throws { container = try .inMemory(schema: schema) }

  deinit {
    LiveObjects.track(container, contexts)
    do {
      #expect(try container.verifyTextIndexes() == [])
      #expect(try container.store.verify().findings == [])
    } catch {
      Issue.record(error)
    }
  }

  /// Returns a new context that is retained until the end of the test.
  func context() -> ManagedObjectContext {
    let context = container.newContext()
    contexts.append(context)
    return context
  }

  func save(_ texts: [(title: String, body: String?)]) throws {
    let context = context()
    for (title, body) in texts {
      let essay = Essay(context: context)
      (essay.title, essay.body) = (title, body)
    }
    try context.save()
  }

  /// Returns the titles of the essays that match a query, in the order of the request.
  func titles(
    _ query: TextQuery, _ context: ManagedObjectContext? = nil,
    sort: [SortDescriptor<Essay>] = [SortDescriptor(\.title)]
  ) throws -> [String] {
    try (context ?? self.context()).fetch(FetchRequest<Essay>(matching: query, sort: sort))
      .map(\.title)
  }
}
