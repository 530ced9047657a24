/// The results of a run as an HTML page.
///
/// The page is a single file that needs neither other files nor a network.
struct HTMLReport {
  private let report: BenchReport

  init(_ report: BenchReport) { self.report = report }

  /// The complete page.
  var text: String {
    """
    <!doctype html>
    <html lang="en">
    <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <title>heartwood-bench</title>
    <style>
    \(HTMLStyle.text)
    </style>
    </head>
    <body>
    <main>
    <h1>Heartwood benchmark</h1>
    <p class="lead">\(lead)</p>
    \(sections.joined(separator: "\n"))
    <h2>Method</h2>
    <dl>\(facts)</dl>
    <ul>\(report.engines.map { "<li>\($0.escaped)</li>" }.joined())</ul>
    <p>\(method)</p>
    <pre>\(command.escaped)</pre>
    </main>
    </body>
    </html>

    """
  }

  private var measurements: [Measurement] { report.table.measurements }

  private var lead: String {
    let engines = Engine.all.filter { engine in measurements.contains { $0.engine == engine } }
    let names = engines.map { "<span class=\"key \($0)\">\(Engine.title($0))</span>" }
    return "The same workloads with \(names.joined(separator: ", ")). Longer bars are faster."
  }

  private var method: String {
    "Engines take turns, and each turn is a window of time. The order changes after each round. "
      + "Each figure is the median of its windows. A ratio is Heartwood's rate divided by the "
      + "other engine's rate in the same round; the median, minimum and maximum are shown. "
      + "All engines read the same rows, every row is checked, and the results are compared."
  }

  private var facts: String {
    report.facts.filter { $0.name != Self.commandFact }.map { fact in
      "<dt>\(fact.name.escaped)</dt><dd>\(fact.value.escaped)</dd>"
    }.joined()
  }

  private static let commandFact = "command"

  private var command: String {
    report.facts.first { $0.name == Self.commandFact }?.value ?? ""
  }

  /// The sections of the page for which there are results.
  private var sections: [String] {
    [
      section("Rows", RateBars(rowRates).text, "Rows of 100 bytes by integer key, unless noted."),
      section(
        "redb's table", RateBars(rates(of: .redb)).text,
        "24-byte random keys and 150-byte random values."),
      section("YCSB", RateBars(ycsbRates).text, "Records of 1,000 bytes; keys follow Zipf's law."),
      section(
        "Objects", RateBars(graphRates).text,
        "Heartwood's objects compared with SQLite called directly, without an object layer."),
      section(
        "Latencies of single operations", LatencyChart(measurements).text,
        "From left to right: the 50th, 90th, 99th and 99.9th percentiles."),
      section(
        "Reads while another thread writes", readsOverTime(.readWhileWriting),
        notes(of: .readWhileWriting)),
      section(
        "Reads while another thread writes and a snapshot is held", readsOverTime(.readWhileHeld),
        notes(of: .readWhileHeld)),
      section("Disk space used by one repeatedly overwritten value", overwrites, overwriteText),
      section("Larger stores", scaling, "Random point reads by integer key."),
      section(
        "A pinned context while another process imports", pinnedImport, notes(of: .pinnedImport)),
      section("Opening after a crash", openings, ""),
    ].compactMap { $0 }
  }

  private func section(_ title: String, _ body: String, _ text: String) -> String? {
    body.isEmpty ? nil : "<h2>\(title)</h2>\n<p>\(text)</p>\n\(body)"
  }

  private func notes(of workload: Workload) -> String {
    report.notes.filter { $0.hasPrefix(workload.rawValue + ":") }.map(\.escaped)
      .joined(separator: "<br>")
  }

  private func isSized(_ measurement: Measurement) -> Bool {
    measurement.workload.hasPrefix(Workload.scaling.rawValue)
  }

  private var rowRates: [Measurement] {
    measurements.filter { measurement in
      measurement.isCompared && !isSized(measurement)
        && !["graph-", "ycsb-", Workload.redb.rawValue].contains {
          measurement.workload.hasPrefix($0)
        }
    }
  }

  private func rates(of workload: Workload) -> [Measurement] {
    measurements.filter { $0.isCompared && $0.workload.hasPrefix(workload.rawValue) }
  }

  private var ycsbRates: [Measurement] {
    measurements.filter { $0.isCompared && $0.workload.hasPrefix("ycsb-") }
  }

  private var graphRates: [Measurement] {
    measurements.filter { $0.isCompared && $0.workload.hasPrefix("graph-") }
  }
}

/// Creates the charts.
extension HTMLReport {
  private func curve(_ name: String, of measurement: Measurement) -> Curve? {
    measurement.curves.first { $0.name == name }
  }

  /// The rates of reads and commits over time, and the disk space if it was measured.
  private func readsOverTime(_ workload: Workload) -> String {
    let all = measurements.filter { $0.workload == workload.rawValue }
    var chart = LineChart(horizontal: "seconds", vertical: "reads/s")
    for measurement in all {
      guard let curve = curve("reads", of: measurement) else { continue }
      chart.lines.append(LineChart.Line(measurement.engine, curve.points))
      guard measurement.engine == Engine.heartwood else { continue }
      let checkpoints = self.curve("checkpoints", of: measurement)?.points ?? []
      chart.marks = checkpoints.map { $0[0] }
    }
    var commits = LineChart(horizontal: "seconds", vertical: "commits/s")
    commits.marks = chart.marks
    commits.lines = all.compactMap { measurement in
      curve("commits", of: measurement).map { LineChart.Line(measurement.engine, $0.points) }
    }
    var space = LineChart(horizontal: "seconds", vertical: "bytes")
    space.marks = chart.marks
    space.lines = all.compactMap { measurement in
      curve("space", of: measurement).map { LineChart.Line(measurement.engine, $0.points) }
    }
    let text = [chart, commits, space].map(\.text).joined()
    return text.isEmpty || chart.marks.isEmpty
      ? text : text + "<p>Vertical lines mark the ends of Heartwood's checkpoints.</p>"
  }

  private var overwriteText: String {
    "32 KiB per value, with a reader that holds the first value (solid) or without one (dotted)."
  }

  private var overwrites: String {
    var chart = LineChart(horizontal: "overwrites", vertical: "bytes")
    for measurement in measurements
    where measurement.workload.hasPrefix(Workload.overwrite.rawValue) {
      for curve in measurement.curves {
        chart.lines.append(
          LineChart.Line(
            measurement.engine, curve.points, note: curve.name, isDotted: curve.name == "unpinned"))
      }
    }
    return chart.text
  }

  private var scaling: String {
    var chart = LineChart(horizontal: "rows", vertical: "reads/s")
    chart.isLogarithmic = true
    for engine in Engine.all {
      let points = measurements.filter { isSized($0) && $0.engine == engine }.compactMap {
        measurement in
        measurement.workload.split(separator: "-").last.flatMap { Double($0) }
          .map { [$0, measurement.slices.median] }
      }
      if !points.isEmpty { chart.lines.append(LineChart.Line(engine, points)) }
    }
    return chart.text
  }

  private var pinnedImport: String {
    guard
      let measurement = measurements.first(where: { $0.workload == Workload.pinnedImport.rawValue })
    else { return "" }
    let begin = curve("imported", of: measurement)?.points.first.map { [$0[0]] } ?? []
    let charts = [["p50", "p99"], ["log", "memory of the reader"]].map { names in
      let curves = names.compactMap { curve($0, of: measurement) }
      var chart = LineChart(horizontal: "seconds", vertical: curves.first?.vertical ?? "")
      chart.marks = begin
      chart.lines = curves.enumerated().map { index, curve in
        LineChart.Line(Engine.heartwood, curve.points, note: curve.name, isDotted: index == 1)
      }
      return chart.text
    }
    return charts.joined() + "<p>The vertical line marks the start of the import.</p>"
  }

  private var openings: String {
    let lines = report.notes.filter { $0.hasPrefix(Workload.openLog.rawValue) }
    return lines.isEmpty ? "" : "<ul>\(lines.map { "<li>\($0.escaped)</li>" }.joined())</ul>"
  }
}

extension String {
  /// The text, escaped for HTML.
  var escaped: String {
    var result = ""
    // Process single scalars, because a character can consist of a markup character and a combining
    // mark.
    for scalar in unicodeScalars {
      switch scalar {
      case "&": result += "&amp;"
      case "<": result += "&lt;"
      case ">": result += "&gt;"
      case "\"": result += "&quot;"
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result
  }
}
