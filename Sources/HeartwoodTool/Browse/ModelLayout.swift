/// The positions of the boxes in a model diagram.
///
/// Boxes are arranged in columns. In each group of connected boxes, the neighbours of the middle
/// box are in the columns next to it. The neighbours of these boxes are one column further out, and
/// so on. Lines therefore connect only boxes in the same column or in adjacent columns, and never
/// cross a box.
struct ModelLayout {
  struct Point {
    var x: Double
    var y: Double
  }

  /// The top-left corners of the boxes.
  private(set) var origins: [Point]
  /// The widths of the boxes.
  ///
  /// All boxes in a column have the same width, so that a line from a narrow box cannot cross a
  /// wide one.
  private(set) var widths: [Double]
  private(set) var size = Point(x: 0, y: 0)
  private let graph: ModelGraph

  private static let columnGap = 84.0
  private static let rowGap = 26.0
  /// The maximum width of a drawing, unless a single group of boxes is wider.
  private static let preferredWidth = 1120.0

  init(_ graph: ModelGraph) {
    self.graph = graph
    origins = Array(repeating: Point(x: 0, y: 0), count: graph.boxes.count)
    widths = graph.boxes.map(\.width)
    var neighbors = Array(repeating: Set<Int>(), count: graph.boxes.count)
    for line in graph.lines where line.ends[0].box != line.ends[1].box {
      neighbors[line.ends[0].box].insert(line.ends[1].box)
      neighbors[line.ends[1].box].insert(line.ends[0].box)
    }
    let groups = Self.groups(of: Array(graph.boxes.indices), neighbors)
    place(groups.map { best($0, neighbors) })
  }

  /// Returns the groups of connected boxes.
  private static func groups(of boxes: [Int], _ neighbors: [Set<Int>]) -> [[Int]] {
    var remaining = Set(boxes)
    var result: [[Int]] = []
    for box in boxes where remaining.remove(box) != nil {
      var group = [box]
      var next = 0
      while next < group.count {
        for neighbor in neighbors[group[next]].sorted() where remaining.remove(neighbor) != nil {
          group.append(neighbor)
        }
        next += 1
      }
      result.append(group)
    }
    return result
  }

  // MARK: Laying out one group

  /// The columns of a group from left to right, with the top edges of their boxes.
  private struct Columns {
    var boxes: [[Int]]
    var tops: [Int: Double] = [:]
    var widths: [Double] = []

    var width: Double {
      widths.reduce(0, +) + Double(max(0, widths.count - 1)) * ModelLayout.columnGap
    }
  }

  /// Tries each box of a group in the middle and at the left, and returns the best arrangement.
  private func best(_ group: [Int], _ neighbors: [Set<Int>]) -> Columns {
    let candidates = group.flatMap { middle in
      [true, false].map { arrange(around: middle, neighbors, onBothSides: $0) }
    }
    let costs = candidates.map(cost)
    let best = costs.indices.min { costs[$0] < costs[$1] } ?? 0
    return improved(candidates[best])
  }

  /// Returns an arrangement that has been improved by swapping neighbouring boxes within columns.
  private func improved(_ columns: Columns) -> Columns {
    var best = (columns: columns, cost: cost(columns))
    for _ in 0..<8 {
      let previous = best.cost
      for (column, boxes) in columns.boxes.enumerated() {
        for position in boxes.indices.dropLast() {
          var swapped = best.columns
          swapped.boxes[column].swapAt(position, position + 1)
          stack(column, &swapped)
          let cost = cost(swapped)
          if cost < best.cost { best = (swapped, cost) }
        }
      }
      if best.cost == previous { break }
    }
    return best.columns
  }

  private func arrange(
    around middle: Int, _ neighbors: [Set<Int>], onBothSides: Bool
  ) -> Columns {
    var distances = [middle: 0]
    var queue = [middle]
    var next = 0
    while next < queue.count {
      let box = queue[next]
      for neighbor in neighbors[box].sorted() where distances[neighbor] == nil {
        distances[neighbor] = (distances[box] ?? 0) + 1
        queue.append(neighbor)
      }
      next += 1
    }
    // Put boxes that are connected without the middle box on the same side. Otherwise, a line
    // between them would cross the middle column.
    let others = neighbors.map { $0.subtracting([middle]) }
    let parts = Self.groups(of: queue.filter { $0 != middle }, others)
    var heights = [0.0, 0.0]
    var sides: [Int: [Int]] = [0: [middle]]
    for part in parts.map({ ($0, height($0)) }).sorted(by: { $0.1 > $1.1 }) {
      let side = heights[0] <= heights[1] || !onBothSides ? 0 : 1
      heights[side] += part.1
      for box in part.0 {
        sides[(distances[box] ?? 0) * (side == 0 ? 1 : -1), default: []].append(box)
      }
    }
    var columns = Columns(boxes: sides.sorted { $0.key < $1.key }.map(\.value))
    columns.widths = columns.boxes.map { $0.map { graph.boxes[$0].width }.max() ?? 0 }
    let root = columns.boxes.firstIndex { $0.contains(middle) } ?? 0
    for column in columns.boxes.indices { stack(column, &columns) }
    // Sort the boxes in each column by the vertical positions of the connected boxes. Proceed from
    // the middle outwards and back. After four rounds, the order hardly changes.
    for _ in 0..<4 {
      for column in columns.boxes.indices.sorted(by: { abs($0 - root) < abs($1 - root) }) {
        sort(column, &columns)
      }
      for column in columns.boxes.indices.sorted(by: { abs($0 - root) > abs($1 - root) }) {
        sort(column, &columns)
      }
    }
    return columns
  }

  private func height(_ boxes: [Int]) -> Double {
    boxes.reduce(0) { $0 + graph.boxes[$1].height + Self.rowGap }
  }

  /// Stacks the boxes of a column so that the stack is centred at 0.
  private func stack(_ column: Int, _ columns: inout Columns) {
    var top = (Self.rowGap - height(columns.boxes[column])) / 2
    for box in columns.boxes[column] {
      columns.tops[box] = top
      top += graph.boxes[box].height + Self.rowGap
    }
  }

  private func sort(_ column: Int, _ columns: inout Columns) {
    var sums: [Int: (height: Double, count: Double)] = [:]
    for line in graph.lines {
      for (near, far) in [(line.ends[0], line.ends[1]), (line.ends[1], line.ends[0])]
      where near.box != far.box {
        guard let height = self.height(of: far, columns) else { continue }
        // Subtract the offset of the line's end within the box, to align the ends of the line
        // instead of the tops of the boxes.
        let target = height - graph.boxes[near.box].offset(of: near.row)
        let sum = sums[near.box] ?? (0, 0)
        sums[near.box] = (sum.height + target, sum.count + 1)
      }
    }
    let means = sums.mapValues { $0.height / $0.count }
    columns.boxes[column].sort { first, second in
      let (upper, lower) = (means[first] ?? 0, means[second] ?? 0)
      return upper == lower ? first < second : upper < lower
    }
    stack(column, &columns)
  }

  private func height(of end: ModelGraph.End, _ columns: Columns) -> Double? {
    columns.tops[end.box].map { $0 + graph.boxes[end.box].offset(of: end.row) }
  }

  /// Returns a cost that is low if the lines are short and do not cross, and if the group fits on
  /// the page.
  private func cost(_ columns: Columns) -> Double {
    var positions: [Int: Int] = [:]
    for (column, boxes) in columns.boxes.enumerated() {
      for box in boxes { positions[box] = column }
    }
    var segments: [(gap: Int, left: Double, right: Double)] = []
    var cost = 0.0
    for line in graph.lines {
      guard let first = positions[line.ends[0].box], let second = positions[line.ends[1].box],
        let start = height(of: line.ends[0], columns), let end = height(of: line.ends[1], columns)
      else { continue }
      cost += abs(start - end) * (first == second ? 0.6 : 0.3)
      if first < second { segments.append((first, start, end)) }
      if first > second { segments.append((second, end, start)) }
    }
    for (index, one) in segments.enumerated() {
      for other in segments[..<index] where other.gap == one.gap {
        if (one.left - other.left) * (one.right - other.right) < 0 { cost += 60 }
      }
    }
    let height = columns.boxes.map(height).max() ?? 0
    return cost + height + columns.width * 0.2 + max(0, columns.width - Self.preferredWidth) * 5
  }

  // MARK: Arranging all groups

  /// Places the groups side by side, in as many rows as needed.
  private mutating func place(_ groups: [Columns]) {
    func height(_ columns: Columns) -> Double {
      (columns.boxes.map(self.height).max() ?? Self.rowGap) - Self.rowGap
    }
    let limit = max(Self.preferredWidth, groups.map(\.width).max() ?? 0)
    var corner = Point(x: 0, y: 0)
    var bottom = 0.0
    // Leave space to the right of a column for the lines within the column.
    let space = Self.columnGap / 2
    for columns in groups.sorted(by: { height($0) > height($1) }) {
      if corner.x > 0, corner.x + columns.width > limit {
        corner = Point(x: 0, y: bottom + 2 * Self.rowGap)
      }
      var left = corner.x
      for (boxes, width) in zip(columns.boxes, columns.widths) {
        for box in boxes {
          origins[box] = Point(
            x: left, y: corner.y + height(columns) / 2 + (columns.tops[box] ?? 0))
          widths[box] = width
        }
        left += width + Self.columnGap
      }
      bottom = max(bottom, corner.y + height(columns))
      size = Point(x: max(size.x, corner.x + columns.width + space), y: bottom)
      corner.x += columns.width + 2 * space
    }
  }
}
