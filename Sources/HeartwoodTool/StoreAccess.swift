import Foundation
import HeartwoodEngine

/// Opens stores: read-only where that suffices, without ever creating one or changing other files.
enum StoreAccess {
  /// The use that a command makes of a store.
  enum Purpose {
    case reading
    case writing
  }

  /// Opens the store, runs `body`, and closes the store.
  static func withStore<R>(
    _ path: String, for purpose: Purpose, _ body: (Store) throws -> R
  ) throws -> R {
    try requireStore(path)
    var options = StoreOptions()
    options.name = "heartwoodctl"
    options.isReadOnly = purpose == .reading
    // A defect of a file or its medium is then an error, and never a signal.
    options.access = .buffered
    let store = try Store(at: path, options: options)
    do {
      let result = try body(store)
      try store.close()
      return result
    } catch {
      // Report the first error.
      try? store.close()
      throw error
    }
  }

  /// Returns the snapshot for a command: of the newest generation, or of the one that was named.
  static func snapshot(of store: Store, _ invocation: Invocation) throws -> Snapshot {
    if let name = invocation.generationName {
      let named = try store.namedGenerations()
      guard let generation = named[name] else {
        throw noSuchName(name, among: named.keys.sorted(), invocation.path)
      }
      return try store.snapshot(at: generation)
    }
    return try invocation.generation.map(store.snapshot(at:)) ?? store.snapshot()
  }

  /// Returns a keyspace of the snapshot, which must have one with this name.
  static func keyspace(_ name: String, of snapshot: Snapshot) throws -> KeyspaceReader {
    if let keyspace = try snapshot.keyspace(name) { return keyspace }
    let question = NearestName.question(name, in: try snapshot.keyspaceNames)
    throw ToolFailure.refused(
      "There is no keyspace \(QuotedText.quoted(name)) in \(snapshot.generation).\(question)")
  }

  /// The error for a name without a generation.
  static func noSuchName(_ name: String, among names: [String], _ path: String) -> ToolFailure {
    .refused(
      "No generation is kept as \(QuotedText.quoted(name)).\(NearestName.question(name, in: names))"
        + " Type heartwoodctl generations \(path) to list the named ones.")
  }

  /// Throws an error if the path contains no store: opening it for writing would create one there.
  private static func requireStore(_ path: String) throws(ToolFailure) {
    var isDirectory: ObjCBool = false
    guard FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) else {
      throw .refused("There is nothing at \(path). Type the directory of a store.")
    }
    guard isDirectory.boolValue else {
      throw .refused("\(path) is a file. Type the directory of a store.")
    }
    let pages = path + "/pages"
    guard FileManager.default.fileExists(atPath: pages) else {
      throw .refused(
        "The directory \(path) contains no store: it has no file named pages. Type the directory "
          + "of a store.")
    }
    guard let file = FileHandle(forReadingAtPath: pages) else {
      throw .refused("\(pages) cannot be read. Check its permissions.")
    }
    defer { try? file.close() }
    guard HeaderSlotLayout.offsets.contains(where: { isHeader(file, at: $0) }) else {
      throw .refused(
        "The directory \(path) contains no store: its file pages does not have the signature of a "
          + "Heartwood store. Type another directory, or restore a backup if this was a store.")
    }
  }

  private static func isHeader(_ file: FileHandle, at offset: UInt64) -> Bool {
    guard (try? file.seek(toOffset: offset)) != nil,
      let bytes = try? file.read(upToCount: MemoryLayout<UInt64>.size)
    else { return false }
    let magic = HeaderSlotLayout.magicNumber
    return bytes.elementsEqual((0..<8).map { UInt8(truncatingIfNeeded: magic >> (8 * $0)) })
  }
}
