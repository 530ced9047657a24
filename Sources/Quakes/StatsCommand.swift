import Foundation
import Heartwood

/// The `quakes stats` command, which shows the number of quakes by magnitude and by day, as well as
/// the largest and the deepest quake.
struct StatsCommand: Command {
  static let name = "stats"
  static let summary = "show the number of quakes by magnitude and by day"
  static let help = """
    quakes stats: \(summary).

    Usage: quakes stats [options]
    Example: quakes stats --store ~/quakes

      --json                print a JSON document
    """

  private let wantsJSON: Bool

  init(_ arguments: inout Arguments) throws {
    wantsJSON = arguments.flag("--json")
  }

  func run(in store: QuakeStore) throws {
    let container = try store.openForReading()
    let context = container.newContext()
    let stats = try context.performAndWait {
      // Pin the context, so that all figures are from one generation even during an import.
      try context.setQueryGenerationFrom(.current)
      return try QuakeStats(context)
    }
    if wantsJSON { try printJSON(stats) } else { stats.printLines() }
  }
}

/// The statistics shown by the command.
private struct QuakeStats: Encodable {
  /// The quake with the greatest magnitude or the greatest depth.
  struct Leader: Encodable {
    let code: String
    let place: String
    let time: Date
    let value: Double
  }

  /// The number of quakes whose magnitude is at least `magnitude` and less than `magnitude + 0.5`.
  struct Step: Encodable {
    let magnitude: Double
    let count: Int
  }

  /// The number of quakes on one day in UTC.
  struct Day: Encodable {
    let day: String
    let count: Int
  }

  let count: Int
  let first: Date?
  let last: Date?
  let largest: Leader?
  let deepest: Leader?
  /// The number of quakes without a magnitude.
  let unmeasuredCount: Int
  let magnitudes: [Step]
  let days: [Day]

  /// The maximum number of days in the terminal output.
  ///
  /// If there are more days, only the newest days are shown.
  private static let shownDayCount = 31

  init(_ context: ManagedObjectContext) throws {
    // Let the fetch sort the rows, so that only the first quake is loaded as an object.
    func leader(
      _ order: SortDescriptor<Quake>, _ value: (Quake) -> Double?
    ) throws -> Leader? {
      guard let quake = try context.fetch(FetchRequest(sort: [order], limit: 1)).first,
        let value = value(quake)
      else { return nil }
      return Leader(code: quake.code, place: quake.place, time: quake.time, value: value)
    }
    count = try context.count(for: FetchRequest<Quake>())
    largest = try leader(SortDescriptor(\.magnitude, order: .reverse)) { $0.magnitude }
    deepest = try leader(SortDescriptor(\.depth, order: .reverse)) { $0.depth }

    var (steps, days): ([Int: Int], [Int: Int]) = ([:], [:])
    var (first, last): (Date?, Date?)
    var unmeasuredCount = 0
    // Fetch in batches, so that only a few quakes are in memory at a time.
    for quake in try context.fetchBatched(FetchRequest<Quake>()) {
      first = min(first ?? quake.time, quake.time)
      last = max(last ?? quake.time, quake.time)
      days[Int((quake.time.timeIntervalSince1970 / 86_400).rounded(.down)), default: 0] += 1
      guard let magnitude = quake.magnitude else {
        unmeasuredCount += 1
        continue
      }
      steps[Int((magnitude * 2).rounded(.down)), default: 0] += 1
    }
    (self.first, self.last, self.unmeasuredCount) = (first, last, unmeasuredCount)
    // Include steps without quakes, so that the chart has no gaps.
    let range = steps.keys.min().flatMap { low in steps.keys.max().map { low...$0 } }
    magnitudes = (range.map(Array.init) ?? []).map { step in
      Step(magnitude: Double(step) / 2, count: steps[step] ?? 0)
    }
    self.days = days.sorted { $0.key < $1.key }.map { day, count in
      Day(day: Date(timeIntervalSince1970: Double(day) * 86_400).day, count: count)
    }
  }

  func printLines() {
    print("quakes   \(count.grouped)")
    guard let first, let last else { return }
    print("time     \(first.shown) to \(last.shown) UTC")
    if let largest { print("largest  magnitude \(largest.value.short), \(Self.words(largest))") }
    if let deepest { print("deepest  \(deepest.value.short) km, \(Self.words(deepest))") }
    if unmeasuredCount > 0 { print("         \(unmeasuredCount.grouped) without a magnitude") }
    Self.printBars("magnitude", magnitudes.map { ($0.magnitude.short, $0.count) })
    Self.printBars("day (UTC)", days.suffix(Self.shownDayCount).map { ($0.day, $0.count) })
  }

  private static func words(_ leader: Leader) -> String {
    "\(leader.place.visible) (\(leader.code.visible), \(leader.time.shown))"
  }

  private static func printBars(_ title: String, _ rows: [(name: String, count: Int)]) {
    let greatest = rows.map(\.count).max() ?? 0
    let width = max(10, min(Terminal.width, 100) - 24)
    var table = Table([title: .right, "quakes": .right, "": .left])
    for row in rows {
      table.append(
        [row.name, row.count.grouped, bar(row.count, of: greatest, width: width)])
    }
    print("\n" + table.text)
  }
}
