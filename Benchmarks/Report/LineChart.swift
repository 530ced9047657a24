import Foundation

/// A line chart, which plots one quantity against another.
struct LineChart {
  /// One line of the chart, which connects points of one engine.
  struct Line {
    let engine: String
    let points: [[Double]]
    /// A label that distinguishes the line from other lines of the same engine.
    let note: String?
    let isDotted: Bool

    init(_ engine: String, _ points: [[Double]], note: String? = nil, isDotted: Bool = false) {
      self.engine = engine
      self.points = points
      self.note = note
      self.isDotted = isDotted
    }
  }

  let horizontal: String
  let vertical: String
  var lines: [Line] = []
  /// The positions on the horizontal axis at which vertical lines are drawn.
  var marks: [Double] = []
  /// A Boolean value that indicates whether the horizontal axis is logarithmic.
  var isLogarithmic = false

  private static let width = 860.0
  private static let height = 260.0
  private static let margin = (left: 64.0, right: 12.0, top: 12.0, bottom: 40.0)

  init(horizontal: String, vertical: String) {
    self.horizontal = horizontal
    self.vertical = vertical
  }

  /// The chart as HTML, or an empty string if there is nothing to show.
  var text: String {
    let points = lines.flatMap(\.points)
    guard let most = points.map({ $0[1] }).max(), let last = points.map({ $0[0] }).max(),
      let first = points.map({ $0[0] }).min(), most > 0
    else { return "" }
    let frame = Frame(
      first: isLogarithmic ? first : 0, last: last, top: Axis.end(above: most),
      isLogarithmic: isLogarithmic)
    return """
      <figure>
      <div class="legend">\(legend)</div>
      <svg viewBox="0 0 \(Self.width) \(Self.height)" role="img">
      \(grid(frame))
      \(lines.map { path($0, frame) }.joined(separator: "\n"))
      </svg>
      </figure>
      """
  }

  private var legend: String {
    lines.map { line in
      let note = line.note.map { ", \($0)" } ?? ""
      return "<span class=\"\(line.engine)\">\(Engine.title(line.engine))\(note.escaped)</span>"
    }.joined()
  }

  /// The mapping from quantities to positions in the chart.
  private struct Frame {
    let first, last, top: Double
    let isLogarithmic: Bool

    func x(_ value: Double) -> Double {
      let range = LineChart.width - LineChart.margin.left - LineChart.margin.right
      let share =
        isLogarithmic
        ? (log10(value / first))
          / max(log10(last / first), 1e-9)
        : (value - first) / max(last - first, 1e-9)
      return (LineChart.margin.left + share * range).rounded(toPlaces: 1)
    }

    func y(_ value: Double) -> Double {
      let range = LineChart.height - LineChart.margin.top - LineChart.margin.bottom
      return (LineChart.margin.top + (1 - value / top) * range).rounded(toPlaces: 1)
    }
  }

  private func grid(_ frame: Frame) -> String {
    let left = Self.margin.left
    let right = Self.width - Self.margin.right
    let bottom = frame.y(0)
    var parts = (0...4).map { step in
      let value = frame.top * Double(step) / 4
      let y = frame.y(value)
      return "<line class=\"grid\" x1=\"\(left)\" x2=\"\(right)\" y1=\"\(y)\" y2=\"\(y)\"/>"
        + "<text x=\"\(left - 8)\" y=\"\(y + 4)\" text-anchor=\"end\">\(value.short)</text>"
    }
    for value in Axis.ticks(frame.first, frame.last, isLogarithmic: isLogarithmic) {
      parts.append(
        "<text x=\"\(frame.x(value))\" y=\"\(bottom + 18)\" text-anchor=\"middle\">"
          + "\(value.short)</text>")
    }
    parts += marks.map { mark in
      let x = frame.x(mark)
      return "<line class=\"mark\" x1=\"\(x)\" x2=\"\(x)\" y1=\"\(Self.margin.top)\" "
        + "y2=\"\(bottom)\"/>"
    }
    parts.append(
      "<text x=\"\(right)\" y=\"\(Self.height - 4)\" text-anchor=\"end\">\(horizontal)</text>")
    parts.append("<text x=\"\(left + 6)\" y=\"\(Self.margin.top + 12)\">\(vertical)</text>")
    return parts.joined(separator: "\n")
  }

  private func path(_ line: Line, _ frame: Frame) -> String {
    let points = line.points.map { "\(frame.x($0[0])),\(frame.y($0[1]))" }
    let style = line.isDotted ? "line dotted" : "line"
    let dots =
      line.points.count > 12
      ? ""
      : points.map { point in
        let place = point.split(separator: ",")
        return "<circle class=\"dot\" cx=\"\(place[0])\" cy=\"\(place[1])\" r=\"3.5\"/>"
      }.joined()
    return "<g class=\"\(line.engine)\"><polyline class=\"\(style)\" "
      + "points=\"\(points.joined(separator: " "))\"/>\(dots)</g>"
  }
}

/// Chooses round numbers for an axis.
enum Axis {
  /// Returns the smallest round number that is at least `value`.
  static func end(above value: Double) -> Double {
    var size = 1.0
    while size * 10 < value { size *= 10 }
    while size > value { size /= 10 }
    return [1, 1.2, 1.6, 2, 2.4, 3.2, 4, 5, 6, 8, 10].map { $0 * size }.first { $0 >= value }
      ?? size * 10
  }

  /// Returns the values that are labelled on the axis.
  static func ticks(_ first: Double, _ last: Double, isLogarithmic: Bool) -> [Double] {
    guard isLogarithmic else {
      let step = end(above: max(last - first, 1e-9)) / 8
      return stride(from: first, through: last, by: step).map { $0 }
    }
    return Array(sequence(first: first) { $0 * 10 <= last * 1.001 ? $0 * 10 : nil })
  }
}
