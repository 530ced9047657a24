import Foundation
import HeartwoodEngine

/// The `stat` command, which shows the page usage as a chart.
enum StatCommand {
  private struct Document: Encodable {
    struct Row: Encodable {
      let kind: String
      let pageCount: Int
      let usedByteCount: Int
    }

    let generation: UInt64
    let pageByteCount: Int
    let pageCount: Int
    let usedByteCount: Int
    let kinds: [Row]
    /// A histogram of the fill levels of leaf pages, in steps of 10 percent.
    ///
    /// The first element is the number of leaf pages that are less than 10 percent full. The last
    /// element is the number of leaf pages that are at least 90 percent full.
    let leafCounts: [Int]

    init(_ sum: PageSum) {
      generation = sum.generation.frame
      pageByteCount = sum.pageByteCount
      pageCount = sum.pageCount
      usedByteCount = sum.usedByteCount
      kinds = PageUsage.Kind.drawn.map { kind in
        Row(
          kind: kind.word, pageCount: sum[kind].pageCount, usedByteCount: sum[kind].usedByteCount)
      }
      leafCounts = sum.leafCounts
    }
  }

  static func run(_ invocation: Invocation, _ output: Output) throws {
    let (sum, pages) = try StoreAccess.withStore(invocation.path, for: .reading) { store in
      let snapshot = try StoreAccess.snapshot(of: store, invocation)
      let pages = try store.pageUsage(of: snapshot)
      let sum = PageSum(
        pages, pageByteCount: store.statistics.pageByteCount, snapshot.generation)
      return (sum, pages)
    }
    if let path = invocation[.svg] {
      let name = URL(fileURLWithPath: invocation.path).lastPathComponent
      let chart = SVGPageChart(name, sum, PageMap(pages, sum, maxCellCount: SVGPageChart.cellCount))
      try ReplacementFile.write(chart.svg, to: path, outside: invocation.path)
    }
    if invocation.wantsJSON { return try output.json(Document(sum)) }
    let width = min(output.width, TerminalPageChart.maxWidth)
    let map = PageMap(pages, sum, maxCellCount: width * TerminalPageChart.maxRowCount)
    try output.line(TerminalPageChart(sum, map, width: width, hasColors: output.hasColors).text)
  }
}
