import Foundation

/// A chart of the latencies of single operations.
///
/// For each workload and engine, a line extends from the median to the 99.9th percentile.
struct LatencyChart {
  private let rows: [(workload: String, measurements: [Measurement])]

  init(_ measurements: [Measurement]) {
    let measured = measurements.filter { ($0.latencies?.count ?? 0) > 0 }
    var workloads: [String] = []
    for measurement in measured where !workloads.contains(measurement.workload) {
      workloads.append(measurement.workload)
    }
    rows = workloads.map { workload in
      (workload, measured.filter { $0.workload == workload })
    }
  }

  private static let width = 860.0
  private static let left = 190.0
  private static let right = 210.0
  private static let lineHeight = 15.0
  private static let gap = 14.0

  /// The chart as HTML, or an empty string if nothing was measured.
  var text: String {
    let all = rows.flatMap(\.measurements).flatMap(Self.nanoseconds)
    guard let least = all.min(), let most = all.max() else { return "" }
    let scale = Scale(first: pow(10, floor(log10(max(least, 1)))), last: pow(10, ceil(log10(most))))
    var y = 26.0
    var parts: [String] = []
    for row in rows {
      parts.append("<text x=\"0\" y=\"\(y + 4)\">\(row.workload)</text>")
      for measurement in row.measurements {
        parts.append(line(measurement, scale, y))
        y += Self.lineHeight
      }
      y += Self.gap
    }
    return """
      <figure><svg viewBox="0 0 \(Self.width) \(y)" role="img">
      \(grid(scale, to: y))
      \(parts.joined(separator: "\n"))
      </svg></figure>
      """
  }

  private static func nanoseconds(_ measurement: Measurement) -> [Double] {
    guard let latencies = measurement.latencies else { return [] }
    return Latencies.shownShares.map { max(latencies.nanoseconds(ofShare: $0), 1) }
  }

  /// A logarithmic scale.
  private struct Scale {
    let first, last: Double

    func x(_ value: Double) -> Double {
      let share = log10(value / first) / max(log10(last / first), 1)
      let range = LatencyChart.width - LatencyChart.left - LatencyChart.right
      return (LatencyChart.left + share * range).rounded(toPlaces: 1)
    }
  }

  private func grid(_ scale: Scale, to bottom: Double) -> String {
    Axis.ticks(scale.first, scale.last, isLogarithmic: true).map { value in
      let x = scale.x(value)
      return "<line class=\"grid\" x1=\"\(x)\" x2=\"\(x)\" y1=\"16\" y2=\"\(bottom)\"/>"
        + "<text x=\"\(x)\" y=\"10\" text-anchor=\"middle\">\(Self.duration(value))</text>"
    }.joined(separator: "\n")
  }

  private func line(_ measurement: Measurement, _ scale: Scale, _ y: Double) -> String {
    let values = Self.nanoseconds(measurement)
    let places = values.map(scale.x)
    let dots = zip(places, Latencies.shownShares).map { place, share in
      "<circle class=\"dot\" cx=\"\(place)\" cy=\"\(y)\" r=\"\(share == 0.5 ? 4.5 : 3)\"/>"
    }
    let summary = "\(Self.duration(values[0])) · p99 \(Self.duration(values[2]))"
    return "<g class=\"\(measurement.engine)\"><line class=\"line\" x1=\"\(places[0])\" "
      + "x2=\"\(places[places.count - 1])\" y1=\"\(y)\" y2=\"\(y)\"/>\(dots.joined())"
      + "<text x=\"\(Self.width - Self.right + 16)\" y=\"\(y + 4)\">"
      + "\(Engine.title(measurement.engine)) \(summary)</text></g>"
  }

  /// Returns a duration in readable form.
  private static func duration(_ nanoseconds: Double) -> String {
    switch nanoseconds {
    case ..<1000: "\(Int(nanoseconds)) ns"
    case ..<1_000_000: "\((nanoseconds / 1000).short) µs"
    default: "\((nanoseconds / 1_000_000).short) ms"
    }
  }
}
