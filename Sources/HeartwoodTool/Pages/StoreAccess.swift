import Foundation
import HeartwoodEngine

/// Functions that open existing stores for the commands.
///
/// These functions never create a store. A command that only reads a store opens it read-only, and
/// leaves its files unchanged.
enum StoreAccess {
  /// The purpose for which a command opens a store.
  enum Purpose {
    case reading
    case writing
  }

  /// Opens the store, runs `body`, and closes the store again.
  static func withStore<R>(
    _ path: String, for purpose: Purpose, _ body: (Store) throws -> R
  ) throws -> R {
    try requireStore(path)
    var options = StoreOptions()
    options.name = "heartwoodctl"
    options.isReadOnly = purpose == .reading
    // Use buffered access, so that I/O errors are thrown instead of ending the process with a
    // signal.
    options.access = .buffered
    // Use a small cache, because commands read most pages only once.
    options.cacheByteCount = 16 << 20
    let store = try Store(at: path, options: options)
    do {
      let result = try body(store)
      try store.close()
      return result
    } catch {
      // Report the error from `body`, not an error from closing the store.
      try? store.close()
      throw error
    }
  }

  /// Returns a snapshot of the generation selected on the command line or pinned by a shell, or of
  /// the newest generation otherwise.
  static func snapshot(of store: Store, _ invocation: Invocation) throws -> Snapshot {
    if let name = invocation[.named] { return try snapshot(of: store, named: name, invocation) }
    if let text = invocation[.at] { return try snapshot(of: store, at: text, invocation) }
    return try invocation.pinnedGeneration.map { try store.snapshot(at: $0) } ?? store.snapshot()
  }

  /// Returns a snapshot of the generation with the given name or number.
  ///
  /// If `text` is a time, the method returns a snapshot of the newest readable generation that was
  /// committed at or before that time.
  static func snapshot(
    of store: Store, at text: String, _ invocation: Invocation
  ) throws -> Snapshot {
    // Look for a name first, because a name may look like a number or a time.
    if let named = try store.namedGenerations()[text] { return try store.snapshot(at: named) }
    if let frame = UInt64(text) { return try store.snapshot(at: Generation(frame: frame)) }
    guard let milliseconds = TimeText.milliseconds(text) else {
      return try snapshot(of: store, named: text, invocation)
    }
    let newest = try store.snapshot()
    if newest.state.point.time <= milliseconds { return newest }
    for live in try store.liveGenerations().reversed() {
      guard let snapshot = try? store.snapshot(at: live.generation),
        snapshot.state.point.time <= milliseconds
      else { continue }
      return snapshot
    }
    throw ToolFailure.refused(
      "No readable generation dates from \(text) or earlier. Run 'heartwoodctl generations "
        + "\(invocation.path)' to list the readable generations.")
  }

  private static func snapshot(
    of store: Store, named name: String, _ invocation: Invocation
  ) throws -> Snapshot {
    let named = try store.namedGenerations()
    guard let generation = named[name] else {
      throw noSuchName(name, among: named.keys.sorted(), invocation.path)
    }
    return try store.snapshot(at: generation)
  }

  /// Returns the snapshot's keyspace with this name, or throws an error if there is none.
  static func keyspace(_ name: String, of snapshot: Snapshot) throws -> KeyspaceReader {
    if let keyspace = try snapshot.keyspace(name) { return keyspace }
    let question = NearestName.question(name, in: try snapshot.keyspaceNames)
    throw ToolFailure.refused(
      "There is no keyspace named \(QuotedText.quoted(name)) in \(snapshot.generation).\(question) "
        + "Run 'heartwoodctl keys' to list the keyspaces.")
  }

  /// Returns the error to throw if no generation has this name.
  static func noSuchName(_ name: String, among names: [String], _ path: String) -> ToolFailure {
    .refused(
      "There is no generation named "
        + "\(QuotedText.quoted(name)).\(NearestName.question(name, in: names)) Run 'heartwoodctl "
        + "generations \(path)' to list the named generations.")
  }

  /// Throws an error if there is no store at the path.
  ///
  /// Without this check, opening the path for writing would create a store.
  private static func requireStore(_ path: String) throws(ToolFailure) {
    var isDirectory: ObjCBool = false
    guard FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) else {
      throw .refused("There is no file or directory at \(path). Specify the directory of a store.")
    }
    guard isDirectory.boolValue else {
      throw .refused("\(path) is a file. Specify the directory of a store.")
    }
    let pages = path + "/pages"
    guard FileManager.default.fileExists(atPath: pages) else {
      throw .refused(
        "The directory \(path) contains no store: it has no file named 'pages'. Specify the "
          + "directory of a store.")
    }
    guard let file = FileHandle(forReadingAtPath: pages) else {
      throw .refused("\(pages) cannot be read. Check its permissions.")
    }
    defer { try? file.close() }
    guard HeaderSlotLayout.offsets.contains(where: { isHeader(file, at: $0) }) else {
      throw .refused(
        "The directory \(path) contains no store: its file named 'pages' does not have the "
          + "signature of a Heartwood store. Specify another directory. If the directory used to "
          + "contain a store, restore a backup.")
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
