import Dispatch
import Foundation
import HeartwoodEngine

/// The folder the stores of a run lie in.
struct StoreFolder {
  /// The name of the store that is measured.
  static let measured = "quakes"
  /// The name of stores that are removed as soon as they have been loaded.
  static let scratch = "load-random"
  /// The name of the store in which an engine keeps objects.
  static func graph(_ engine: String) -> String { "graph-" + engine }

  let path: String
  private let options: StoreOptions
  private let isTemporary: Bool

  /// Makes the folder where it does not exist; a nil path means a temporary one.
  init(path: String?, options: StoreOptions) throws {
    self.options = options
    isTemporary = path == nil
    let temporary = FileManager.default.temporaryDirectory
      .appendingPathComponent("heartwood-bench-\(UUID().uuidString)").path
    self.path = path ?? temporary
    for name in [Self.measured, Self.scratch] {
      guard !FileManager.default.fileExists(atPath: storePath(name)) else {
        throw BenchFailure(
          "\(storePath(name)) already exists: remove it, or type --path with another folder.")
      }
    }
    try Self.make(self.path)
  }

  /// A folder inside this one, for stores of the same names.
  func inner(_ name: String) throws -> StoreFolder {
    try StoreFolder(path: storePath(name), options: options)
  }

  /// Makes a folder that somebody else fills.
  static func make(_ path: String) throws {
    do {
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    } catch {
      throw BenchFailure(
        "The folder \(path) cannot be made (\(error.localizedDescription)): type --path with "
          + "one that can.")
    }
  }

  /// A new store of this name; one that is there from an earlier round is removed.
  ///
  /// - Parameter checkpointsItself: False leaves all checkpoints to the caller.
  func makeStore(_ name: String, checkpointsItself: Bool = true) throws -> Store {
    try remove(name)
    var options = options
    if !checkpointsItself { options.checkpointLogByteCount = 0 }
    return try Store(at: storePath(name), options: options)
  }

  /// Opens a store that was made before.
  func openStore(_ name: String) throws -> Store {
    try Store(at: storePath(name), options: options)
  }

  func remove(_ name: String) throws {
    guard FileManager.default.fileExists(atPath: storePath(name)) else { return }
    try FileManager.default.removeItem(atPath: storePath(name))
  }

  /// What the files of a store take on the disk, without their holes.
  ///
  /// Asked of the system itself, because Foundation's allocated size is a multiple of it on Linux.
  func allocatedByteCount(_ name: String) throws -> Int {
    let store = storePath(name)
    return try FileManager.default.contentsOfDirectory(atPath: store).reduce(0) { sum, file in
      var status = stat()
      guard stat(store + "/" + file, &status) == 0 else { return sum }
      return sum + Int(status.st_blocks) * 512
    }
  }

  /// Removes a temporary folder with all that is in it; another stays.
  func leave() throws {
    guard isTemporary else { return }
    try FileManager.default.removeItem(atPath: path)
  }

  /// Leaves the folder and ends the program when somebody interrupts it, for as long as the result
  /// is kept.
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
