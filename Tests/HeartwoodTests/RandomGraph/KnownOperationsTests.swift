import Foundation
import Heartwood
import Testing

/// The library's public operations, and how random runs use each of them.
enum KnownOperations {
  enum Use: Equatable {
    /// Random runs call the operation.
    case steps
    /// Random runs omit the operation, for the given reason.
    case left(String)
  }

  private static let reads = "reads what fetches read; has tests of its own"
  private static let notifies = "reports what the steps do; has tests of its own"
  private static let threads = "concerns threads, and does not change objects"

  static let context: [String: Use] = [
    "save": .steps, "insert": .steps, "delete": .steps, "rollback": .steps, "reset": .steps,
    "undo": .steps, "redo": .steps, "endUndoGroup": .steps, "canUndo": .steps, "canRedo": .steps,
    "tracksUndo": .steps, "discardsUndoOnSave": .steps, "groupsUndoByEvent": .left(threads),
    "undoGroupBegan": .left(notifies), "undoLimit": .left("has tests of its own"),
    "undoActionName": .left(reads), "redoActionName": .left(reads), "refresh": .steps,
    "refreshAllObjects": .steps,
    "detectConflicts": .steps, "obtainPermanentIDs": .steps, "object": .steps,
    "existingObject": .steps, "registeredObject": .steps, "fetch": .steps, "count": .steps,
    "execute": .steps, "mergeChanges": .steps, "automaticallyMergesChangesFromParent": .steps,
    "queryGenerationToken": .steps, "setQueryGenerationFrom": .steps, "hasChanges": .steps,
    "insertedObjects": .steps, "updatedObjects": .steps, "deletedObjects": .steps,
    "mergePolicy": .steps, "name": .steps, "managedObjectContext": .steps, "objectID": .steps,
    "isFault": .left("all objects are loaded, so that the reference is exact"),
    "isInserted": .steps, "isDeleted": .steps, "isUpdated": .left("the same as updatedObjects"),
    "registeredObjects": .left("the retained objects depend on other references"),
    "retainsRegisteredObjects": .left("runs retain all objects themselves"),
    "shouldDeleteInaccessibleFaults": .left("runs read no fault whose row is gone"),
    "shouldHandleInaccessibleFault": .left("runs read no fault whose row is gone"),
    "faultError": .left("runs read no fault whose row is gone"),
    "generationAfterSave": .left("one of its two values only removes the pin"),
    "transactionAuthor": .left("is recorded, and changes nothing"),
    "after": .left("random requests compare pages with lists"),
    "explain": .left(reads), "fetchObjectIDs": .left(reads), "fetchBatched": .left(reads),
    "fetchAsync": .left(reads), "aggregate": .left(reads), "fetchValues": .left(reads),
    "startIndex": .left(reads), "endIndex": .left(reads), "objectIDs": .left(reads),
    "changes": .left(notifies), "kind": .left(notifies), "inserted": .left(notifies),
    "updated": .left(notifies), "deleted": .left(notifies), "refreshed": .left(notifies),
    "generation": .left(notifies), "processPendingChanges": .left(notifies),
    "tracksObservation": .left(notifies), "performAndWait": .left(threads),
    "perform": .left(threads), "unownedExecutor": .left(threads), "level": .left(notifies),
    "handler": .left(notifies), "makeAsyncIterator": .left(notifies), "next": .left(notifies),
    "sources": .left(notifies), "terms": .left(reads), "highlights": .left(reads),
    "snippet": .left(reads),
  ]

  static let object: [String: Use] = [
    "validate": .steps, "awakeFromInsert": .left("the classes of the run do not implement it"),
    "awakeFromFetch": .steps,
    "willSave": .left("the classes of the run do not implement it"),
    "didSave": .left("is called, and changes nothing"),
    "prepareForDeletion": .left("is called, and changes nothing"),
    "willTurnIntoFault": .left("is called, and changes nothing"),
    "didTurnIntoFault": .left("is called, and changes nothing"),
    "unreadableValues": .left("the run stores only values that it can read"),
    "isEmpty": .left("the same as a count of 0; has tests of its own"),
    "contains": .left("MembersTests compare it with loaded sets"), "remove": .steps,
    "append": .steps, "entity": .steps, "hash": .steps, "wrappedValue": .steps,
    "projectedValue": .steps,
  ]

  static let container: [String: Use] = [
    "inMemory": .steps, "newContext": .steps, "store": .steps, "fetchHistory": .steps,
    "currentHistoryToken": .steps, "deleteHistory": .steps, "revert": .steps,
    "changes": .left(reads),
  ]

  static let batch: [String: Use] = [
    "predicate": .steps, "includesSubentities": .left("runs include all subclasses"),
    "resultType": .steps, "count": .steps,
  ]

  static let all = context.merging(object) { $1 }.merging(container) { $1 }.merging(batch) { $1 }

  /// The directories that declare operations on objects.
  ///
  /// In these directories, the files in `others` declare no such operations.
  static let directories = [
    "Objects", "Contexts", "ChangeNotification", "Merging", "Undo", "Fetching", "Saving", "Batches",
  ]
  static let others: Set<String> = [
    "Schema.swift", "DerivationBuilder.swift", "MergePolicy.swift", "ContextLog.swift",
    "Aggregate.swift", "FetchExplanation.swift", "FetchRequest.swift",
  ]
}

@Suite("Operations covered by random tests")
struct KnownOperationsTests {
  @Test func `random tests cover all public operations`() throws {
    let found = try Self.declared()
    #expect(found.count > 60)
    let unknown = found.filter { KnownOperations.all[$0.key] == nil }
    #expect(
      unknown.isEmpty,
      "Add these to the random runs, or state in KnownOperations why they are missing: \(unknown)")
  }

  @Test func `random tests cover all public operations of containers, or store tests do`() throws {
    let history = try ["", "+Differences"].reduce(into: Set<String>()) { names, part in
      names.formUnion(
        try Self.names(in: "Sources/Heartwood/Container/PersistentContainer\(part).swift"))
    }
    let left: Set<String> = [
      "tracksHistory", "stages", "progress", "stores", "open", "viewContext",
      "newBackgroundContext", "performBackgroundTask", "inMemory", "isInMemory", "store",
    ]
    let unknown = history.subtracting(left).filter { KnownOperations.all[$0] == nil }
    #expect(unknown.isEmpty)
  }

  private static var root: URL {
    var url = URL(filePath: #filePath)
    for _ in 0..<4 { url.deleteLastPathComponent() }
    return url
  }

  /// Returns the names of public functions and properties, with the files that declare them.
  private static func declared() throws -> [String: String] {
    var result: [String: String] = [:]
    for directory in KnownOperations.directories {
      let path = "Sources/Heartwood/" + directory
      let files = try? FileManager.default.contentsOfDirectory(
        atPath: root.appending(path: path).path)
      for file in files ?? [] where !KnownOperations.others.contains(file) {
        for name in try names(in: path + "/" + file) { result[name] = file }
      }
    }
    return result
  }

  private static func names(in path: String) throws -> Set<String> {
    let text = try String(contentsOf: root.appending(path: path), encoding: .utf8)
    var names: Set<String> = []
    for line in text.split(separator: "\n") {
      let words = line.split { !$0.isLetter && !$0.isNumber && $0 != "_" }.map(String.init)
      guard !line.trimming(while: { $0 == " " }).hasPrefix("//"),
        let start = words.firstIndex(where: { $0 == "public" || $0 == "open" }), start < 2
      else { continue }
      guard let word = words[start...].firstIndex(where: { $0 == "func" || $0 == "var" }),
        word - start < 5, words.count > word + 1, !line.contains("func ==")
      else { continue }
      names.insert(words[word + 1])
    }
    return names
  }
}

extension StringProtocol {
  fileprivate func trimming(while holds: (Character) -> Bool) -> SubSequence {
    drop(while: holds)
  }
}
