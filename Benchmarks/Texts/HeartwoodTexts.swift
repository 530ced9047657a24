import Foundation
import Heartwood

private final class SearchedText: ManagedObject {
  @Attribute(.unique) var number: Int = 0
  @Attribute var title: String = ""
  @Attribute var body: String = ""

  override class var entity: Entity {
    Entity("SearchedText") { TextIndex(\SearchedText.title, \SearchedText.body) }
  }
}

extension HeartwoodGraph: TextEngine {
  func makeTextStore(in directory: String) throws -> any TextStore {
    try HeartwoodTextStore(directory: directory, options: options)
  }
}

private final class HeartwoodTextStore: TextStore {
  private let container: PersistentContainer

  init(directory: String, options: StoreOptions) throws {
    var all = ContainerOptions()
    all.store = options
    container = try PersistentContainer(
      url: URL(filePath: directory), schema: Schema(SearchedText.self), options: all)
  }

  func insert(_ documents: [TextDocument]) throws {
    var next = 0
    let request = BatchInsertRequest<SearchedText> { row in
      guard next < documents.count else { return true }
      row[\.number] = next
      row[\.title] = documents[next].title
      row[\.body] = documents[next].body
      next += 1
      return false
    }
    try container.newContext().execute(request)
  }

  func checkpoint() throws { try container.store.checkpoint() }

  func replace(_ number: Int, by document: TextDocument) throws {
    let context = container.newContext()
    try context.performAndWait {
      guard
        let object = try context.existingObject(where: \SearchedText.number, equals: number)
      else { throw BenchFailure("Document \(number) is missing.") }
      (object.title, object.body) = (document.title, document.body)
      try context.save()
    }
  }

  func top(_ question: TextQuestion) throws -> [String] {
    let context = container.newContext()
    return try context.performAndWait {
      try context.fetch(FetchRequest<SearchedText>(matching: question.query, limit: 10))
        .map(\.title)
    }
  }

  func count(_ question: TextQuestion) throws -> Int {
    let context = container.newContext()
    return try context.performAndWait {
      try context.count(for: FetchRequest<SearchedText>(matching: question.query))
    }
  }

  func finish() throws {
    let findings = try container.store.verify().findings
    guard findings.isEmpty else { throw BenchFailure("The store is damaged: \(findings)") }
    try container.store.close()
  }
}

extension TextQuestion {
  fileprivate var query: TextQuery {
    switch self {
    case .word(let word): .word(word)
    case .both(let first, let second): .word(first) && .word(second)
    case .phrase(let first, let second): .phrase("\(first) \(second)")
    case .prefix(let prefix): .prefix(prefix)
    }
  }
}
