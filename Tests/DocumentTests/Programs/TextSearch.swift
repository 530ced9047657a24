import Foundation
import Heartwood

final class Note: ManagedObject {
  @Attribute var title: String = ""
  @Attribute var body: String = ""
  @Attribute var isArchived: Bool = false

  override class var entity: Entity {
    Entity("Note") {
      TextIndex(\Note.title, \Note.body, weights: [2, 1], tokenizer: .words(stemming: .english))
    }
  }
}

func search(_ context: ManagedObjectContext) throws {
  let request = FetchRequest<Note>(
    matching: TextQuery(userInput: "swift data*"), where: #Predicate { !$0.isArchived }, limit: 10)
  let notes = try context.fetch(request)
  print(notes.count)
}

func build() -> QueryPredicate<Note> {
  let query = TextQuery.word("swift") && !.phrase("taylor swift") || .prefix("sql").in(\Note.title)
  let similar = TextQuery.similar("wrod", distance: 1)
  print(similar)

  let either = QueryPredicate<Note>(matching: query) || QueryPredicate(#Predicate { $0.isArchived })
  return either
}

@MainActor final class NoteSearch {
  private let context: ManagedObjectContext
  private let results: FetchedResultsController<Note>
  private var query = TextQuery(userInput: "")

  init(_ context: ManagedObjectContext) throws {
    self.context = context
    results = FetchedResultsController(
      fetchRequest: FetchRequest(matching: query, limit: 50), context: context)
    try results.performFetch()
  }

  /// Searches again after the user has changed the text.
  func update(_ text: String) throws {
    query = TextQuery(userInput: text)
    results.fetchRequest.textQuery = query
    try results.performFetch()
  }

  /// The title of each note, and the excerpt of its body that contains most of the words found.
  func rows() throws -> [(title: String, excerpt: TextSnippet)] {
    try results.map { ($0.title, try $0.snippet(of: query, in: \Note.body)) }
  }

  /// The words that begin like the last word, the most frequent first.
  func suggestions(_ text: String) throws -> [String] {
    guard let last = text.split(separator: " ").last else { return [] }
    return try context.terms(withPrefix: String(last), of: Note.self, limit: 5).map(\.text)
  }
}

struct Codes: CustomTextTokenizer {
  let name = "codes"
  let version = 1

  func forEachToken(
    in text: String, _ body: (_ term: String, _ range: Range<String.Index>) -> Void
  ) {
    for word in text.split(separator: "/") {
      body(word.uppercased(), word.startIndex..<word.endIndex)
    }
  }
}
