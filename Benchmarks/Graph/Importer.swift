import Foundation
import Heartwood
import Synchronization

/// A separate process that imports quakes into a store while other processes read it.
///
/// The process runs the same program, with a first argument that is for internal use only.
final class Importer: Sendable {
  static let argument = "import-worker"

  /// The number of rows that one commit inserts or replaces.
  private static let rowsPerCommit = 10_000
  /// The number of imported rows for every row that replaces an existing quake.
  ///
  /// A row replaces the quake that has the same code.
  private static let rowsPerReplacement = 10

  private let process: Process
  private let imported = Mutex(0)

  /// Starts a process that imports `rowCount` rows into the store at `directory`.
  init(into directory: String, rowCount: Int) throws {
    guard let program = Bundle.main.executableURL else {
      throw BenchFailure(
        "The program cannot start an importing process, because its own path is unknown. Use "
          + "--only to run other workloads.")
    }
    process = Process()
    process.executableURL = program
    process.arguments = [Self.argument, directory, String(rowCount)]
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    output.fileHandleForReading.readabilityHandler = { [weak self] handle in
      let data = handle.availableData
      if data.isEmpty { return handle.readabilityHandler = nil }
      let lines = String(decoding: data, as: UTF8.self).split(separator: "\n")
      if let last = lines.last.flatMap({ Int($0) }) { self?.imported.withLock { $0 = last } }
    }
  }

  /// The number of rows committed so far.
  var rowCount: Int { imported.withLock { $0 } }

  var isRunning: Bool { process.isRunning }

  /// Waits for the process to end.
  ///
  /// - Throws: ``BenchFailure`` if the process failed.
  func finish() throws {
    process.waitUntilExit()
    guard process.terminationStatus == 0 else {
      throw BenchFailure(
        "The importing process exited with code \(process.terminationStatus). Look for its message "
          + "on standard error.")
    }
  }

  /// Terminates the process if it is still running.
  func stop() {
    if process.isRunning { process.terminate() }
  }

  // MARK: In the child process

  /// Imports rows, and prints the number of rows imported so far after each commit.
  static func work(_ arguments: ArraySlice<String>) throws {
    guard arguments.count == 2, let directory = arguments.first, let text = arguments.last,
      let rowCount = Int(text)
    else { throw BenchFailure("\(argument) is for internal use only. Run the program without it.") }
    let container = try PersistentContainer(
      url: URL(filePath: directory), schema: Schema(GraphItem.self, GraphQuake.self))
    let context = container.newContext()
    try context.performAndWait {
      context.transactionAuthor = argument
      context.mergePolicy = .mergeByPropertyObjectTrump
      let codes = try context.fetchValues(FetchRequest<GraphQuake>(), \.code)
      var random = RandomNumbers(seed: 3)
      var generator = QuakeGenerator()
      var number = 0
      while number < rowCount {
        let end = min(number + rowsPerCommit, rowCount)
        let request = BatchInsertRequest<GraphQuake> { row in
          guard number < end else { return true }
          let quake = generator.next()
          let replaces = number % rowsPerReplacement == 0
          row.take(quake)
          row[\.code] =
            replaces ? codes[Int.random(in: codes.indices, using: &random)] : "im\(number)"
          number += 1
          return false
        }
        try context.execute(request)
        FileHandle.standardOutput.write(Data("\(number)\n".utf8))
      }
    }
    try container.store.close()
  }
}
