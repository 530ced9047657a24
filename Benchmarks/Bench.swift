import Foundation
import HeartwoodEngine

/// The program: reads the options, runs the workloads, prints what they brought.
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
      } else {
        exit(try run(options) ? 0 : 1)
      }
    } catch {
      Progress().clear()
      FileHandle.standardError.write(Data("heartwood-bench: \(error)\n".utf8))
      exit(2)
    }
  }

  /// Runs everything and prints it; false where the store does not verify afterwards.
  private static func run(_ options: BenchOptions) throws -> Bool {
    // The folder is gone before anything is printed: a closed pipe ends the program.
    let report = try measure(options)
    if options.json == "-" {
      FileHandle.standardError.write(Data(report.text.utf8))
      FileHandle.standardOutput.write(try report.table.json())
    } else {
      if let path = options.json {
        try report.table.json().write(to: URL(fileURLWithPath: path))
      }
      FileHandle.standardOutput.write(Data(report.text.utf8))
    }
    return report.isSound
  }

  /// What a run has to say.
  private struct Report {
    let text: String
    let table: ResultTable
    /// The store verified at the end.
    let isSound: Bool
  }

  private static func measure(_ options: BenchOptions) throws -> Report {
    let progress = Progress()
    let load = Machine.load
    let rows = try makeRows(options, progress)
    let folder = try StoreFolder(path: options.path, options: options.store)
    defer { try? folder.leave() }
    let interrupts = folder.leaveOnInterrupt()
    defer { for interrupt in interrupts { interrupt.cancel() } }
    var session = try Session(options, rows, folder, progress)
    for workload in options.workloads {
      do {
        try session.measure(workload)
      } catch {
        throw BenchFailure("\(workload.rawValue) stopped: \(error)")
      }
    }
    let activity = session.activity
    let notes = session.notes
    let comparison = session.comparison.map { "\n\($0)\n" } ?? ""
    let verification = try session.verify()
    let diskByteCount = try folder.allocatedByteCount(StoreFolder.measured)
    progress.clear()
    let text = """
      \(header(options, rows, diskByteCount, load))

      \(session.table.text)

      median, min and max of \(Harness.windowCount) windows, or of a load's rounds; ns/op per thread
      \(([activity] + notes).joined(separator: "\n"))
      \(comparison)
      hash of all reads \(String(session.hash, radix: 16))
      \(verification.summary)

      """
    return Report(text: text, table: session.table, isSound: verification.findings.isEmpty)
  }

  private static func makeRows(_ options: BenchOptions, _ progress: Progress) throws -> QuakeRows {
    guard let feed = options.feed else {
      return QuakeRows(generated: options.rows ?? BenchOptions.defaultRows, progress: progress)
    }
    let quakes = try QuakeFeed.read(path: feed)
    return QuakeRows(
      feed: quakes, path: feed, count: options.rows ?? quakes.count, progress: progress)
  }

  private static func header(
    _ options: BenchOptions, _ rows: QuakeRows, _ diskByteCount: Int, _ load: String
  ) -> String {
    let lines = [
      ("rows", "\(rows.count.grouped) (\(rows.origin)), by integer and by string key"),
      (
        "bytes",
        "\(rows.byteCount.grouped) of keys and values, \(diskByteCount.grouped) on disk at the end"
      ),
      ("page size", "\(options.store.pageSize.grouped) bytes"),
      ("access", "\(options.store.access)"),
      ("machine", Machine.description),
      ("load", load),
      ("date", Machine.date),
      ("Swift", Machine.swiftVersion),
    ]
    return lines.map { $0.0.padded(to: 11) + $0.1 }.joined(separator: "\n")
  }
}
