import Foundation

/// All results of a run, as a text table and as JSON.
struct ResultTable {
  private(set) var measurements: [Measurement] = []

  mutating func append(_ measurement: Measurement) {
    measurements.append(measurement)
  }

  /// Returns the median rate of a workload with an engine, or `nil` if it has not been measured.
  func value(of workload: Workload, _ engine: String) -> Double? {
    measurements.first { $0.workload == workload.rawValue && $0.engine == engine }?.slices.median
  }

  /// The table of Heartwood's results, with one line for each workload.
  var text: String {
    var rows = [["workload", "median", "unit", "ns/op", "min", "max", "of idle"]]
    for measurement in measurements where measurement.engine == Engine.heartwood {
      let slices = measurement.slices
      rows.append([
        measurement.workload, slices.median.grouped, measurement.unit,
        measurement.unit.hasSuffix("/s") ? slices.nanosecondsPerOperation.grouped : "",
        slices.lowest.grouped, slices.highest.grouped,
        measurement.shareOfIdle.map { String(format: "%.2f", $0) } ?? "",
      ])
    }
    if rows.dropFirst().allSatisfy({ $0.last == "" }) { rows = rows.map { $0.dropLast() } }
    return Self.aligned(rows, textColumns: [0, 2])
  }

  /// Returns a table of the workloads that peers also run, with the medians of all engines.
  ///
  /// The rate of each peer is followed by Heartwood's rate divided by the peer's rate. The columns
  /// of a missing peer are empty.
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

  /// Returns the rows in aligned columns, with a line below the first row, which contains the
  /// titles.
  ///
  /// - Parameter textColumns: The columns to align on the left. All other columns are aligned on
  ///   the right.
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

  /// Returns a JSON array with one object for each measurement of a workload with an engine.
  func json() throws -> Data {
    struct Figure: Encodable {
      let workload: String
      let engine: String
      let value: Double
      let unit: String
      let n: Int
      let lowest: Double
      let highest: Double
      /// The median, minimum and maximum of Heartwood's rate divided by this engine's rate, over
      /// all rounds.
      let heartwoodShare: [Double]?
      /// The durations of operations in nanoseconds, keyed by percentile, such as `99.9`.
      let latencies: [String: Double]?
      let curves: [Curve]?
    }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    let figures = measurements.map { measurement in
      Figure(
        workload: measurement.workload, engine: measurement.engine,
        value: measurement.slices.median, unit: measurement.unit,
        n: measurement.slices.operationCount, lowest: measurement.slices.lowest,
        highest: measurement.slices.highest,
        heartwoodShare: measurement.heartwoodShare.map { [$0.median, $0.lowest, $0.highest] },
        latencies: measurement.latencies.map { latencies in
          Dictionary(
            uniqueKeysWithValues: Latencies.shownShares.map { share in
              ((share * 100).formatted(), latencies.nanoseconds(ofShare: share))
            })
        },
        curves: measurement.curves.isEmpty ? nil : measurement.curves)
    }
    return try encoder.encode(figures) + Data("\n".utf8)
  }
}

extension BinaryInteger {
  /// The number with a comma between groups of three digits.
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
  /// The number with a comma between groups of three digits.
  ///
  /// A small number has one decimal place.
  var grouped: String {
    guard isFinite, magnitude < 1e18 else { return "-" }
    return magnitude < 100 ? String(format: "%.1f", self) : Int(rounded()).grouped
  }
}

extension String {
  /// Returns the text padded to the given width with trailing spaces.
  func padded(to width: Int) -> String {
    self + String(repeating: " ", count: Swift.max(0, width - count))
  }

  /// Returns the text padded to the given width with leading spaces.
  func leftPadded(to width: Int) -> String {
    String(repeating: " ", count: Swift.max(0, width - count)) + self
  }
}
