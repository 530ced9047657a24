extension SQLiteGraph: TextEngine {
  func makeTextStore(in directory: String) throws -> any TextStore {
    try SQLiteTextStore(library, directory)
  }
}

/// A table of SQLite's full-text extension FTS5, with its default options.
private final class SQLiteTextStore: TextStore {
  private let database: SQLiteDatabase
  private let insertText: SQLiteStatement
  private let updateText: SQLiteStatement
  private let topTexts: SQLiteStatement
  private let countTexts: SQLiteStatement

  init(_ library: SQLiteLibrary, _ directory: String) throws {
    try StoreDirectory.make(directory)
    let database = try SQLiteDatabase(library, path: directory + "/database")
    self.database = database
    for text in SQLiteGraph.durableSettings { try database.run(text) }
    try database.run("CREATE VIRTUAL TABLE texts USING fts5(title, body)")
    func prepare(_ text: String) throws -> SQLiteStatement { try SQLiteStatement(database, text) }
    insertText = try prepare("INSERT INTO texts (rowid, title, body) VALUES (?, ?, ?)")
    updateText = try prepare("UPDATE texts SET title = ?2, body = ?3 WHERE rowid = ?1")
    topTexts = try prepare("SELECT title FROM texts WHERE texts MATCH ? ORDER BY rank LIMIT 10")
    countTexts = try prepare("SELECT count(*) FROM texts WHERE texts MATCH ?")
  }

  func insert(_ documents: [TextDocument]) throws {
    try database.run("BEGIN IMMEDIATE")
    for (number, document) in documents.enumerated() { try run(insertText, number, document) }
    try database.run("COMMIT")
  }

  private func run(_ statement: SQLiteStatement, _ number: Int, _ document: TextDocument) throws {
    statement.bind(Int64(number), at: 1)
    statement.bind(document.title, at: 2)
    statement.bind(document.body, at: 3)
    _ = try statement.step()
    statement.reset()
  }

  func checkpoint() throws { try database.run("PRAGMA wal_checkpoint(TRUNCATE)") }

  func replace(_ number: Int, by document: TextDocument) throws {
    try run(updateText, number, document)
  }

  func top(_ question: TextQuestion) throws -> [String] {
    topTexts.bind(question.text, at: 1)
    var titles: [String] = []
    while try topTexts.step() { titles.append(topTexts.string(0)) }
    topTexts.reset()
    return titles
  }

  func count(_ question: TextQuestion) throws -> Int {
    countTexts.bind(question.text, at: 1)
    defer { countTexts.reset() }
    return try countTexts.step() ? Int(countTexts.integer(0)) : 0
  }

  func finish() throws { try database.requireIntegrity() }
}

extension TextQuestion {
  /// The query in the syntax of FTS5.
  fileprivate var text: String {
    switch self {
    case .word(let word): "\"\(word)\""
    case .both(let first, let second): "\"\(first)\" AND \"\(second)\""
    case .phrase(let first, let second): "\"\(first) \(second)\""
    case .prefix(let prefix): "\(prefix)*"
    }
  }
}
