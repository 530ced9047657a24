import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

/// A note whose title and body can be searched.
class Article: ManagedObject {
  @Attribute var title: String = ""
  @Attribute var body: String? = nil
  @Attribute var isArchived: Bool = false
  @Attribute var rank: Int = 0

  override class var entity: Entity {
    Entity("Article") {
      TextIndex(\Article.title, \Article.body, weights: [2, 1])
      Index(\Article.rank)
    }
  }
}

/// A kind of note, which inherits the text index.
final class Letter: Article {
  @Attribute var sender: String = ""
}

let articles = Schema(Article.self, Letter.self)

/// A store of articles, whose text index is checked when the test ends.
final class TextFixture {
  let container: PersistentContainer
  private var contexts: [ManagedObjectContext] = []

  init(_ schema: Schema = articles) throws { container = try .inMemory(schema: schema) }

  deinit {
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

  /// Saves articles with the given titles and bodies.
  func save(_ texts: [(title: String, body: String?)]) throws {
    let context = context()
    for (title, body) in texts {
      let article = Article(context: context)
      (article.title, article.body) = (title, body)
    }
    try context.save()
  }

  /// Returns the titles of the articles that match a query, in the order of the request.
  func titles(
    _ query: TextQuery, _ context: ManagedObjectContext? = nil,
    sort: [SortDescriptor<Article>] = [SortDescriptor(\.title)]
  ) throws -> [String] {
    try (context ?? self.context()).fetch(FetchRequest<Article>(matching: query, sort: sort))
      .map(\.title)
  }
}
