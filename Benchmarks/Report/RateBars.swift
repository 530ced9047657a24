/// A bar chart of rates, with a group of bars for each workload.
///
/// The bar of the fastest engine in a group has the full length.
struct RateBars {
  private let measurements: [Measurement]

  init(_ measurements: [Measurement]) { self.measurements = measurements }

  /// The chart as HTML, or an empty string if nothing was measured.
  var text: String {
    let workloads = measurements.filter { $0.engine == Engine.heartwood }.map(\.workload)
    let groups = workloads.map(group)
    return groups.isEmpty ? "" : "<div class=\"bars\">\(groups.joined())</div>"
  }

  private func group(_ workload: String) -> String {
    let all = measurements.filter { $0.workload == workload }
    let fastest = all.map(\.slices.median).max() ?? 1
    let summary = Workload(rawValue: workload)?.summary ?? ""
    let title = "<div class=\"name\">\(workload)<small>\(summary.escaped)</small></div>"
    return title + all.map { row($0, fastest) }.joined()
  }

  private func row(_ measurement: Measurement, _ fastest: Double) -> String {
    let width = (measurement.slices.median / fastest * 100).rounded(toPlaces: 2)
    let spread =
      "\(measurement.slices.lowest.grouped) to \(measurement.slices.highest.grouped)"
    return """
      <div class="engine">\(Engine.title(measurement.engine))</div>
      <div class="track" title="\(spread) \(measurement.unit)">\
      <div class="bar \(measurement.engine)" style="width:\(width)%"></div></div>
      <div class="number">\(measurement.slices.median.short) \(measurement.unit)</div>
      <div class="ratio">\(ratio(measurement.heartwoodShare))</div>
      """
  }

  private func ratio(_ share: Spread?) -> String {
    guard let share else { return "" }
    return "<b>\(share.median.ratio) ×</b> (\(share.lowest.ratio)–\(share.highest.ratio))"
  }
}

extension Double {
  /// Returns the number rounded to the given number of decimal places.
  func rounded(toPlaces places: Int) -> Double {
    let factor = (0..<places).reduce(1.0) { factor, _ in factor * 10 }
    return (self * factor).rounded() / factor
  }

  /// The number as a ratio, with at most four decimal places if it is below 0.1, two if it is below
  /// 10, and one otherwise.
  var ratio: String { "\(rounded(toPlaces: self < 0.1 ? 4 : self < 10 ? 2 : 1))" }

  /// The number in a short form, with a unit prefix if it is large, such as `1.7 M`.
  var short: String {
    let steps: [(Double, String)] = [(1e9, " G"), (1e6, " M"), (1e3, " k")]
    for (size, sign) in steps where magnitude >= size {
      let value = self / size
      return trimmed(value.rounded(toPlaces: value < 100 ? 1 : 0)) + sign
    }
    return trimmed(rounded(toPlaces: magnitude < 10 ? 2 : 0))
  }

  private func trimmed(_ value: Double) -> String {
    value == value.rounded() ? "\(Int(value))" : "\(value)"
  }
}
