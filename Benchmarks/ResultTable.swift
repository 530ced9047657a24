import Foundation

/// The result of one workload.
struct Measurement {
  let workload: String
  let engine: String
  let unit: String
  let slices: Slices
  /// The rate as a share of the same workload without a writer, where that was measured too.
  var shareOfIdle: Double?
  /// What happened one after the other, where that says more.
  var series: [PinnedImport.Sample]?
  /// Whether peers do this workload too.
  var isCompared = false
  /// Heartwood's rate as a share of this one, round by round; for a peer.
  var heartwoodShare: Spread?
}

/// All results of a run, as a table for people and as JSON for programs.
struct ResultTable {
  private(set) var measurements: [Measurement] = []

  mutating func append(_ measurement: Measurement) {
    measurements.append(measurement)
  }

  /// The rate a workload reached earlier in this run.
  func value(of workload: Workload) -> Double? {
    measurements.first { $0.workload == workload.rawValue }?.slices.median
  }

  /// The table of what Heartwood brought: one line for each workload.
  var text: String {
    var rows = [["workload", "median", "unit", "ns/op", "min", "max", "of idle"]]
    for measurement in measurements where measurement.engine == Engine.heartwood {
      let slices = measurement.slices
      rows.append([
        measurement.workload, slices.median.grouped, measurement.unit,
        slices.nanosecondsPerOperation.grouped, slices.lowest.grouped, slices.highest.grouped,
        measurement.shareOfIdle.map { String(format: "%.2f", $0) } ?? "",
      ])
    }
    if rows.dropFirst().allSatisfy({ $0.last == "" }) { rows = rows.map { $0.dropLast() } }
    return Self.aligned(rows, textColumns: [0, 2])
  }

  /// The table of the workloads that peers do too, with the medians of all engines.
  ///
  /// Behind each peer stands Heartwood's rate as a share of the peer's. The columns of a peer that
  /// is not here are empty: what was not measured has no ratio.
  func comparison(with peers: [String]) -> String {
    let titles = peers.flatMap { [$0, "ratio", "min", "max"] }
    var rows = [["workload", "unit", Engine.heartwood] + titles]
    for own in measurements where own.engine == Engine.heartwood && own.isCompared {
      let cells = peers.flatMap { peer -> [String] in
        let other = measurements.first { $0.workload == own.workload && $0.engine == peer }
        guard let other, let share = other.heartwoodShare else { return ["", "", "", ""] }
        let ratios = [share.median, share.lowest, share.highest]
        let shown = ratios.map { String(format: $0 < 0.1 ? "%.4f" : "%.2f", $0) }
        return [other.slices.median.grouped] + shown
      }
      rows.append([own.workload, own.unit, own.slices.median.grouped] + cells)
    }
    return Self.aligned(rows, textColumns: [0, 1])
  }

  /// The rows in columns below their titles, numbers aligned at their ends.
  private static func aligned(_ rows: [[String]], textColumns: Set<Int>) -> String {
    let widths = rows[0].indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
    var lines = rows.map { row in
      let cells = row.indices.map { column in
        textColumns.contains(column)
          ? row[column].padded(to: widths[column]) : row[column].leftPadded(to: widths[column])
      }
      return cells.joined(separator: "  ").trimmingCharacters(in: .whitespaces)
    }
    let ruleWidth = widths.reduce(0, +) + 2 * (widths.count - 1)
    lines.insert(String(repeating: "-", count: ruleWidth), at: 1)
    return lines.joined(separator: "\n")
  }

  /// An array with an object for each workload; `series` only where there is one.
  func json() throws -> Data {
    struct Figure: Encodable {
      let workload: String
      let engine: String
      let value: Double
      let unit: String
      let n: Int
      let series: [PinnedImport.Sample]?
    }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    let figures = measurements.map { measurement in
      Figure(
        workload: measurement.workload, engine: measurement.engine,
        value: measurement.slices.median, unit: measurement.unit,
        n: measurement.slices.operationCount, series: measurement.series)
    }
    return try encoder.encode(figures) + Data("\n".utf8)
  }
}

extension BinaryInteger {
  /// The number with a comma between each three digits.
  var grouped: String {
    var text = ""
    for (index, digit) in String(magnitude).reversed().enumerated() {
      if index > 0 && index % 3 == 0 { text.append(",") }
      text.append(digit)
    }
    return (self < 0 ? "-" : "") + String(text.reversed())
  }
}

extension Double {
  /// The number with a comma between each three digits; with decimals only where it is small.
  var grouped: String {
    guard isFinite, magnitude < 1e18 else { return "-" }
    return magnitude < 100 ? String(format: "%.1f", self) : Int(rounded()).grouped
  }
}

extension String {
  /// The text, filled up with spaces at its end.
  func padded(to width: Int) -> String {
    self + String(repeating: " ", count: Swift.max(0, width - count))
  }

  /// The text, filled up with spaces in front.
  func leftPadded(to width: Int) -> String {
    String(repeating: " ", count: Swift.max(0, width - count)) + self
  }
}
