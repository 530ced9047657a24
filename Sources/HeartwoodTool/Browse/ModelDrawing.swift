/// An SVG drawing of a model.
///
/// The colours of the drawing are defined in the page's style sheet.
struct ModelDrawing {
  private typealias Point = ModelLayout.Point

  /// The maximum number of entities in a drawing.
  ///
  /// If a model has more entities, the page lists them instead.
  static let entityLimit = 20

  private let graph: ModelGraph
  private let layout: ModelLayout

  private static let margin = 3.0
  /// The length of the shape that marks the end of a line.
  private static let markLength = 14.0

  init(_ entities: [BrowsedEntity]) {
    graph = ModelGraph(entities)
    layout = ModelLayout(graph)
  }

  var hasLines: Bool { !graph.lines.isEmpty }

  var svg: String {
    let (width, height) = (layout.size.x + 2 * Self.margin, layout.size.y + 2 * Self.margin)
    let corner = Self.number(-Self.margin)
    let viewBox = "\(corner) \(corner) \(Self.number(width)) \(Self.number(height))"
    return """
      <svg class="model" viewBox="\(viewBox)" width="\(Self.number(width))" \
      height="\(Self.number(height))" role="group" aria-label="Drawing of the model">
      \(graph.lines.map(line).joined(separator: "\n"))
      \(graph.boxes.indices.map(box).joined(separator: "\n"))
      </svg>
      """
  }

  // MARK: Boxes

  private func box(_ index: Int) -> String {
    let box = graph.boxes[index]
    let (origin, width) = (layout.origins[index], layout.widths[index])
    let (left, right) = (origin.x + 12, origin.x + width - 12)
    let title = origin.y + ModelGraph.Box.titleHeight
    var parts = [
      Self.rect(origin.x, origin.y, width, box.height, "box"),
      Self.text(box.title, left, title - 10, box.isAbstract ? "name abstract" : "name"),
      Self.text(box.note, right, title - 10, "end quiet"),
    ]
    if !box.rows.isEmpty {
      parts.append(
        "<path class=\"rule\" d=\"M\(Self.number(origin.x)) \(Self.number(title))"
          + "h\(Self.number(width))\"/>")
    }
    for (row, content) in box.rows.enumerated() {
      let base = origin.y + box.offset(of: row) + 4
      parts.append(Self.text(content.name, left, base, content.isRelationship ? "lead" : ""))
      parts.append(Self.text(content.detail, right, base, "end quiet"))
    }
    if box.hiddenCount > 0 {
      let base = origin.y + box.offset(of: box.rows.count) + 4
      parts.append(Self.text("and \(box.hiddenCount) more", left, base, "quiet"))
    }
    return "<a href=\"#entity-\(index)\">\(parts.joined())</a>"
  }

  // MARK: Lines

  /// A point at the edge of a box, and the direction in which a line leaves the box.
  private struct Port {
    var point: Point
    let direction: Double
  }

  private func line(_ line: ModelGraph.Line) -> String {
    let columns = line.ends.map { layout.origins[$0.box].x }
    let ports = [
      port(line.ends[0], isLeft: columns[1] < columns[0]),
      port(line.ends[1], isLeft: columns[0] < columns[1]),
    ]
    let style = line.isInheritance ? "line inherits" : "line"
    let marks = zip(line.ends, ports).map { mark($0.mark, $1) }
    return "<g class=\"\(style)\"><title>\(HTMLText.visible(line.text))</title>"
      + "\(curve(ports))\(marks.joined())</g>"
  }

  private func port(_ end: ModelGraph.End, isLeft: Bool) -> Port {
    let origin = layout.origins[end.box]
    let height = origin.y + graph.boxes[end.box].offset(of: end.row)
    return isLeft
      ? Port(point: Point(x: origin.x, y: height), direction: -1)
      : Port(point: Point(x: origin.x + layout.widths[end.box], y: height), direction: 1)
  }

  private func curve(_ ports: [Port]) -> String {
    let (start, end) = (ports[0], ports[1])
    if start.point.x == end.point.x, start.point.y == end.point.y {
      // If the relationship is its own inverse, draw a loop.
      let (x, y) = (start.point.x + Self.markLength, start.point.y)
      return "<circle class=\"loop\" cx=\"\(Self.number(x + 7))\" cy=\"\(Self.number(y))\" "
        + "r=\"7\"/>"
    }
    let distance = abs(start.point.y - end.point.y)
    let bend = start.direction == end.direction ? min(24 + distance * 0.2, 70) : 40
    let first = Point(x: start.point.x + start.direction * Self.markLength, y: start.point.y)
    let last = Point(x: end.point.x + end.direction * Self.markLength, y: end.point.y)
    let controls = [
      Point(x: first.x + start.direction * bend, y: first.y),
      Point(x: last.x + end.direction * bend, y: last.y), last,
    ]
    return "<path d=\"M\(Self.text(start.point))L\(Self.text(first))"
      + "C\(controls.map(Self.text).joined(separator: " "))L\(Self.text(end.point))\"/>"
  }

  private func mark(_ mark: ModelGraph.End.Mark, _ port: Port) -> String {
    let (x, y) = (Self.number(port.point.x), Self.number(port.point.y))
    let tip = Self.number(port.point.x + port.direction * Self.markLength)
    let (upper, lower) = (Self.number(port.point.y - 6), Self.number(port.point.y + 6))
    switch mark {
    case .none: return "<circle class=\"dot\" cx=\"\(x)\" cy=\"\(y)\" r=\"3\"/>"
    case .one:
      let bar = Self.number(port.point.x + port.direction * Self.markLength / 2)
      return "<path d=\"M\(bar) \(upper)V\(lower)\"/>"
    case .many: return "<path d=\"M\(x) \(upper)L\(tip) \(y)L\(x) \(lower)\"/>"
    case .superentity:
      return "<path class=\"arrow\" d=\"M\(x) \(y)L\(tip) \(upper)V\(lower)Z\"/>"
    }
  }

  // MARK: Writing

  private static func rect(
    _ x: Double, _ y: Double, _ width: Double, _ height: Double, _ style: String
  ) -> String {
    "<rect class=\"\(style)\" x=\"\(number(x))\" y=\"\(number(y))\" width=\"\(number(width))\" "
      + "height=\"\(number(height))\" rx=\"6\"/>"
  }

  /// Returns an SVG text element.
  ///
  /// `content` must not contain invisible characters.
  private static func text(_ content: String, _ x: Double, _ y: Double, _ style: String) -> String {
    "<text class=\"\(style)\" x=\"\(number(x))\" y=\"\(number(y))\">"
      + "\(HTMLText.escaped(content))</text>"
  }

  private static func text(_ point: Point) -> String { "\(number(point.x)) \(number(point.y))" }

  private static func number(_ value: Double) -> String {
    let tenths = (value * 10).rounded()
    return tenths.truncatingRemainder(dividingBy: 10) == 0
      ? "\(Int(tenths / 10))" : "\(tenths / 10)"
  }
}
