import Foundation
import HeartwoodEngine

/// The program's entry point, which parses the options, runs the workloads and prints the results.
@main
struct Bench {
  static func main() {
    do {
      let arguments = CommandLine.arguments.dropFirst()
      if arguments.first == Importer.argument {
        return try Importer.work(arguments.dropFirst())
      }
      let options = try BenchOptions(Array(arguments))
      if options.wantsHelp {
        print(BenchOptions.helpText)
      } else if options.wantsVersion {
        print("heartwood-bench \(Store.libraryVersion)")
      } else {
        try run(options)
      }
    } catch {
      Progress().clear()
      FileHandle.standardError.write(Data("heartwood-bench: \(error)\n".utf8))
      exit(2)
    }
  }

  /// Runs all workloads and prints the results.
  private static func run(_ options: BenchOptions) throws {
    // Print nothing until `measure` has removed the temporary directory, because writing to a
    // closed pipe would end the program.
    let report = try measure(options)
    if let path = options.html {
      try Data(HTMLReport(report).text.utf8).write(to: URL(fileURLWithPath: path))
    }
    if options.json == "-" {
      FileHandle.standardError.write(Data(report.text.utf8))
      FileHandle.standardOutput.write(try report.table.json())
    } else {
      if let path = options.json {
        try report.table.json().write(to: URL(fileURLWithPath: path))
      }
      FileHandle.standardOutput.write(Data(report.text.utf8))
    }
  }

  private static func measure(_ options: BenchOptions) throws -> BenchReport {
    let progress = Progress()
    let load = Machine.load
    let rows = try makeRows(options, progress)
    let directory = try StoreDirectory(path: options.path, options: options.store)
    defer { try? directory.leave() }
    let interrupts = directory.leaveOnInterrupt()
    defer { for interrupt in interrupts { interrupt.cancel() } }
    var session = try Session(options, rows, directory, progress)
    for workload in options.workloads {
      do {
        try session.measure(workload)
      } catch {
        throw BenchFailure("\(workload.rawValue) failed: \(error)")
      }
    }
    try session.finish()
    progress.clear()
    return BenchReport(
      facts: facts(options, rows, load), table: session.table, notes: session.notes,
      comparison: session.comparison, engines: session.engineDescriptions, hash: session.hash)
  }

  private static func makeRows(_ options: BenchOptions, _ progress: Progress) throws -> QuakeRows {
    guard let feed = options.feed else {
      return QuakeRows(generated: options.rows ?? BenchOptions.defaultRows, progress: progress)
    }
    let quakes = try QuakeFeed.read(path: feed)
    return QuakeRows(
      feed: quakes, path: feed, count: options.rows ?? quakes.count, progress: progress)
  }

  private static func facts(
    _ options: BenchOptions, _ rows: QuakeRows, _ load: String
  ) -> [BenchReport.Fact] {
    let command = CommandLine.arguments.dropFirst().joined(separator: " ")
    return [
      ("rows", "\(rows.count.grouped) (\(rows.origin)), by integer and by string key"),
      ("bytes", "\(rows.byteCount.grouped) of keys and values"),
      ("page size", "\(options.store.pageByteCount.grouped) bytes"),
      ("access", "\(options.store.access)"),
      ("entries", "\(options.entryCount.grouped) of 1,024 bytes in YCSB, of 174 bytes for redb"),
      ("machine", Machine.description),
      ("memory", Machine.memory),
      ("load", load),
      ("date", Machine.date),
      ("Swift", Machine.swiftVersion),
      ("command", "swift run -c release heartwood-bench \(command)"),
    ].map { BenchReport.Fact(name: $0.0, value: $0.1) }
  }
}
