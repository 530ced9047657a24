import Foundation
import Heartwood
import Synchronization

/// Measures reads in a pinned context while another process imports quakes into the same store.
///
/// Every read is compared with the contents of the row before the import. A first phase measures
/// the same reads before the import starts.
struct PinnedImport {
  let directory: String
  let quakes: [Quake]
  /// The number of imported rows.
  let rowCount: Int
  let options: StoreOptions
  /// The duration of the phase without an import.
  let seconds: Double
  let progress: Progress

  /// The measurements over one tenth of a second.
  struct Sample {
    /// The time since the start of the measurement, in seconds.
    let seconds: Double
    let reads: Int
    let p50Nanoseconds: Double
    let p99Nanoseconds: Double
    let logBytes: Int
    /// The anonymous memory of the reading process, in bytes, or `nil` if the system does not
    /// report it.
    let anonymousBytes: Int?
    /// The number of rows committed so far by the other process, or `nil` before it starts.
    let importedRows: Int?
  }

  /// The results.
  struct Outcome {
    let samples: [Sample]
    /// The latencies of reads before and during the import.
    let idle, busy: Latencies
    /// The total size of the newest generation's pages, in bytes.
    let storeByteCount: Int
    let hash: UInt64

    /// The measurements over time.
    var curves: [Curve] {
      func curve(_ name: String, _ unit: String, _ value: (Sample) -> Double?) -> Curve {
        Curve(
          name: name, horizontal: "seconds", vertical: unit,
          points: samples.compactMap { sample in value(sample).map { [sample.seconds, $0] } })
      }
      return [
        curve("p50", "nanoseconds per read") { $0.p50Nanoseconds },
        curve("p99", "nanoseconds per read") { $0.p99Nanoseconds },
        curve("log", "bytes") { Double($0.logBytes) },
        curve("memory of the reader", "bytes") { $0.anonymousBytes.map { Double($0) } },
        curve("imported", "rows") { $0.importedRows.map { Double($0) } },
      ]
    }

    private var busySamples: [Sample] { samples.filter { $0.importedRows != nil } }

    /// Returns the reads per second of each sample.
    ///
    /// - Parameter isIdle: Whether to return the samples taken before the import instead of those
    ///   taken during the import.
    func slices(isIdle: Bool) -> Slices {
      let times = [0] + samples.map(\.seconds)
      let rates = samples.indices.filter { (samples[$0].importedRows == nil) == isIdle }
        .map { Double(samples[$0].reads) / (times[$0 + 1] - times[$0]) }
      return Slices(rates: rates, operationCount: (isIdle ? idle : busy).count)
    }

    /// The result as a sentence.
    var summary: String {
      let (before, during) = (idle.nanoseconds(ofShare: 0.99), busy.nanoseconds(ofShare: 0.99))
      let log = (busySamples.map(\.logBytes).max() ?? 0).grouped
      let memory = busySamples.compactMap(\.anonymousBytes)
      let growth = (memory.last ?? 0) - (memory.first ?? 0)
      let rows = busySamples.last?.importedRows ?? 0
      return "p99 of a read: \(before.grouped) ns before, \(during.grouped) ns while another "
        + "process committed \(rows.grouped) rows (\(String(format: "%.2f", during / before)) "
        + "times); the log used at most \(log) bytes, the store's pages \(storeByteCount.grouped)"
        + (memory.isEmpty ? "" : "; the reader's own memory grew by \(growth.grouped) bytes")
    }
  }

  func run() throws -> Outcome {
    var all = ContainerOptions()
    all.store = options
    let container = try PersistentContainer(
      url: URL(filePath: directory), schema: Schema(GraphItem.self, GraphQuake.self), options: all)
    try fill(container)
    let before = try container.newContext().count(for: FetchRequest<GraphQuake>())
    let reader = PinnedReader(container, quakes.map(\.code))
    try reader.start()
    defer { reader.stop() }
    let start = ContinuousClock.now
    var samples: [Sample] = []
    var (idle, busy) = (Latencies(), Latencies())
    func sample(_ importer: Importer?) throws {
      Thread.sleep(forTimeInterval: 0.1)
      let latencies = try reader.takeLatencies()
      if importer == nil { idle.add(latencies) } else { busy.add(latencies) }
      samples.append(
        Sample(
          seconds: start.duration(to: .now).inSeconds, reads: latencies.count,
          p50Nanoseconds: latencies.nanoseconds(ofShare: 0.5),
          p99Nanoseconds: latencies.nanoseconds(ofShare: 0.99),
          logBytes: container.store.statistics.logByteCount,
          anonymousBytes: Machine.anonymousByteCount, importedRows: importer?.rowCount))
    }
    while samples.last.map({ $0.seconds < seconds }) ?? true { try sample(nil) }
    let importer = try Importer(into: directory, rowCount: rowCount)
    defer { importer.stop() }
    while importer.isRunning {
      try sample(importer)
      progress.show(
        Workload.pinnedImport.rawValue, fraction: Double(importer.rowCount) / Double(rowCount))
    }
    try importer.finish()
    try sample(importer)
    reader.stop()
    _ = try reader.takeLatencies()
    let after = try container.newContext().count(for: FetchRequest<GraphQuake>())
    guard after > before || rowCount < 2 else {
      throw BenchFailure("The importing process committed no rows.")
    }
    let statistics = container.store.statistics
    try finish(container)
    return Outcome(
      samples: samples, idle: idle, busy: busy,
      storeByteCount: statistics.pageCount * statistics.pageByteCount, hash: reader.hash)
  }

  private func fill(_ container: PersistentContainer) throws {
    progress.show("loading quakes", fraction: 0)
    var rest = quakes[...]
    let request = BatchInsertRequest<GraphQuake> { row in
      guard let quake = rest.popFirst() else { return true }
      row.take(quake)
      return false
    }
    try container.newContext().execute(request)
    try container.store.checkpoint()
  }

  private func finish(_ container: PersistentContainer) throws {
    progress.show("verifying", fraction: 0)
    let findings = try container.store.verify().findings
    guard findings.isEmpty else {
      throw BenchFailure("The store is damaged: \(findings.joined(separator: "; "))")
    }
    try container.store.close()
  }
}
