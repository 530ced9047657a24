import Dispatch
import Foundation
import HeartwoodEngine

/// The directory that contains the stores of a run.
struct StoreDirectory {
  /// The name of the measured store.
  static let measured = "quakes"
  /// The name of a temporary store.
  ///
  /// Workloads that compare engines append the name of the engine.
  static let scratch = "load-random"
  /// Returns the name of a store for objects, given the name of its engine or of its workload.
  static func graph(_ engine: String) -> String { "graph-" + engine }

  let path: String
  private let options: StoreOptions
  private let isTemporary: Bool

  /// Creates the directory at `path` if it does not exist.
  ///
  /// If `path` is `nil`, this initialiser creates a temporary directory.
  init(path: String?, options: StoreOptions) throws {
    self.options = options
    isTemporary = path == nil
    let temporary = FileManager.default.temporaryDirectory
      .appendingPathComponent("heartwood-bench-\(UUID().uuidString)").path
    self.path = path ?? temporary
    for name in [Self.measured, Self.scratch] {
      guard !FileManager.default.fileExists(atPath: storePath(name)) else {
        throw BenchFailure(
          "\(storePath(name)) already exists. Remove it, or use --path with another directory.")
      }
    }
    try Self.make(self.path)
  }

  /// Returns a subdirectory for stores whose names are already used in this directory.
  func inner(_ name: String) throws -> StoreDirectory {
    try StoreDirectory(path: storePath(name), options: options)
  }

  /// Creates a directory.
  static func make(_ path: String) throws {
    do {
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    } catch {
      throw BenchFailure(
        "The directory \(path) cannot be created (\(error.localizedDescription)). Use --path with "
          + "another directory.")
    }
  }

  /// Creates a store with the given name, replacing any store with that name from an earlier round.
  ///
  /// - Parameter checkpointsItself: Whether the store runs checkpoints automatically. If not, the
  ///   caller must run them.
  func makeStore(_ name: String, checkpointsItself: Bool = true) throws -> Store {
    try remove(name)
    var options = options
    if !checkpointsItself { options.checkpointLogByteCount = 0 }
    return try Store(at: storePath(name), options: options)
  }

  /// Opens an existing store.
  func openStore(_ name: String) throws -> Store {
    try Store(at: storePath(name), options: options)
  }

  func remove(_ name: String) throws {
    guard FileManager.default.fileExists(atPath: storePath(name)) else { return }
    try FileManager.default.removeItem(atPath: storePath(name))
  }

  /// Returns the disk space occupied by the files of a store, in bytes, not counting holes.
  ///
  /// The method calls `stat` directly, because the allocated size that Foundation returns on Linux
  /// is too large.
  func allocatedByteCount(_ name: String) throws -> Int {
    let store = storePath(name)
    return try FileManager.default.contentsOfDirectory(atPath: store).reduce(0) { sum, file in
      var status = stat()
      guard stat(store + "/" + file, &status) == 0 else { return sum }
      return sum + Int(status.st_blocks) * 512
    }
  }

  /// Removes the directory with its contents if it is temporary.
  func leave() throws {
    guard isTemporary else { return }
    try FileManager.default.removeItem(atPath: path)
  }

  /// Installs signal handlers that remove the directory and end the program when the user
  /// interrupts it.
  ///
  /// The handlers remain active for as long as the result is retained.
  func leaveOnInterrupt() -> [any DispatchSourceSignal] {
    [SIGINT, SIGTERM].map { number in
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
      source.setEventHandler {
        Progress().clear()
        try? leave()
        _exit(128 + number)
      }
      source.activate()
      return source
    }
  }

  private func storePath(_ name: String) -> String {
    path + "/" + name
  }
}
