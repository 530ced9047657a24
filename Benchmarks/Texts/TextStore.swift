/// An engine for the workloads on full-text search.
protocol TextEngine: Sendable {
  var name: String { get }
  /// Creates an empty store in a directory that does not exist yet.
  func makeTextStore(in directory: String) throws -> any TextStore
}

/// A store of documents with a full-text index over their titles and bodies.
protocol TextStore: AnyObject {
  /// Durably adds all documents in one transaction. The documents are numbered from 0.
  func insert(_ documents: [TextDocument]) throws
  /// Checkpoints the inserted documents.
  func checkpoint() throws
  /// In one durable transaction, replaces the document that has the given number.
  func replace(_ number: Int, by document: TextDocument) throws
  /// Returns the titles of the ten most relevant documents.
  func top(_ query: TextQuestion) throws -> [String]
  /// Returns the number of matching documents.
  func count(_ query: TextQuestion) throws -> Int
  /// Checks that the store is intact, and closes it.
  func finish() throws
}

/// A full-text query, independent of the engines' syntax.
enum TextQuestion {
  case word(String)
  case both(String, String)
  case phrase(String, String)
  case prefix(String)
}

/// A generated document.
struct TextDocument {
  let title: String
  let body: String
}
