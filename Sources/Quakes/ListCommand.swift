import Foundation
import Heartwood

/// The `quakes list` command, which lists the quakes that match all conditions, in a given order.
struct ListCommand: Command {
  static let name = "list"
  static let summary = "list quakes by magnitude, time or location"
  static let help = """
    quakes list: \(summary).

    Usage: quakes list [options]
    Example: quakes list --min-magnitude 4.5 --near 37.8,-122.4,500 --sort distance

      --min-magnitude M     only quakes of this magnitude and above
      --since TIME          only quakes since a day, such as 2019-02-16; a time,
                            such as 2019-02-16T12:00:00Z; or 90m, 24h, 7d, 2w
                            before now
      --near LAT,LON[,KM]   only quakes within KM kilometres (default: 100)
      --sort ORDER          time (newest first, the default), magnitude (largest
                            first), distance (nearest first; with --near), or place
      --reverse             reverse the order
      --limit N             only the first N
      --explain             print the query plan instead of the quakes
      --json                print a JSON document
    """

  private enum Order: String, CaseIterable {
    case time
    case magnitude
    case distance
    case place
  }

  private let minimum: Double?
  private let since: Date?
  private let vicinity: Vicinity?
  private let order: Order
  private let isReversed: Bool
  private let limit: Int?
  private let wantsExplanation: Bool
  private let wantsJSON: Bool

  init(_ arguments: inout Arguments) throws {
    minimum = try arguments.value(of: "--min-magnitude", "a number, such as 4.5") {
      Double($0).flatMap { $0.isFinite ? $0 : nil }
    }
    since = try arguments.value(of: "--since", Moment.wanted) { Moment($0)?.start }
    vicinity = try arguments.value(of: "--near", "LAT,LON or LAT,LON,KM, such as 37.8,-122.4,50") {
      Vicinity($0)
    }
    let orders = Order.allCases.map(\.rawValue).joined(separator: ", ")
    order = try arguments.value(of: "--sort", "one of: \(orders)") { Order(rawValue: $0) } ?? .time
    isReversed = arguments.flag("--reverse")
    limit = try arguments.value(of: "--limit", "a positive number, such as 20") { text in
      Int(text).flatMap { $0 > 0 ? $0 : nil }
    }
    wantsExplanation = arguments.flag("--explain")
    wantsJSON = arguments.flag("--json")
    if order == .distance, vicinity == nil {
      throw CommandError.usage("--sort distance requires a location. Add --near LAT,LON.")
    }
  }

  /// A quake, and its distance in kilometres from the location specified with `--near`.
  ///
  /// The distance is `nil` if the option is not given.
  typealias Found = (quake: Quake, distance: Double?)

  func run(in store: QuakeStore) throws { try show(store.openForReading(), at: .current) }

  /// Prints the quakes that match the conditions, as they were in the generation identified by
  /// `token`.
  ///
  /// - Parameter name: The time of that generation as shown in the output, or `nil` to omit it.
  func show(
    _ container: PersistentContainer, at token: QueryGenerationToken, named name: String? = nil
  ) throws {
    // Pin the context, so that the list and the total agree even during an import.
    let context = try container.newContext(pinnedTo: token)
    try context.performAndWait {
      if wantsExplanation { return print(try context.explain(request)) }
      let found = try find(in: context)
      if wantsJSON { return try printJSON(found.map { ListedQuake($0.quake, $0.distance) }) }
      if !found.isEmpty { print(Self.table(found).text + "\n") }
      let total = try context.count(for: FetchRequest<Quake>())
      let moment = name.map { ", as of \($0)" } ?? ""
      print("\(found.count.grouped) of \(total.quakes)\(moment)")
    }
  }

  static func table(_ found: [Found]) -> Table {
    var table = Table([
      "time (UTC)": .left, "magnitude": .right, "depth km": .right, "code": .left, "place": .left,
    ])
    for (quake, distance) in found {
      let place = quake.place.visible + (distance.map { " (\($0.short) km away)" } ?? "")
      table.append(
        [
          quake.time.shown, quake.magnitude?.short ?? "-", quake.depth?.short ?? "-",
          quake.code.visible, place,
        ], color: color(quake.magnitude))
    }
    return table
  }

  /// The fetch request for the quakes that match the conditions.
  private var request: FetchRequest<Quake> {
    get throws {
      var request = FetchRequest<Quake>()
      request.predicate = try conditions.reduce(nil) { all, next in all.map { $0 && next } ?? next }
      request.sortDescriptors = descriptors
      // If a location is given, do not limit the fetch: its results may include quakes outside the
      // circle, which `find(in:)` removes before it applies the limit.
      if vicinity == nil { request.fetchLimit = limit }
      return request
    }
  }

  private var conditions: [QueryPredicate<Quake>] {
    get throws {
      var conditions: [QueryPredicate<Quake>] = []
      if let minimum {
        conditions.append(try QueryPredicate(format: "magnitude >= %@", minimum))
      }
      if let since { conditions.append(QueryPredicate(#Predicate { $0.time >= since })) }
      if let vicinity { conditions.append(try vicinity.predicate) }
      return conditions
    }
  }

  private var descriptors: [SortDescriptor<Quake>] {
    let newestFirst = SortDescriptor(\Quake.time, order: isReversed ? .forward : .reverse)
    return switch order {
    case .time: [newestFirst]
    case .magnitude:
      [SortDescriptor(\.magnitude, order: isReversed ? .forward : .reverse), newestFirst]
    case .place: [SortDescriptor(\.place, order: isReversed ? .reverse : .forward), newestFirst]
    case .distance: []
    }
  }

  private func find(in context: ManagedObjectContext) throws -> [Found] {
    let quakes = try context.fetch(try request)
    guard let vicinity else { return quakes.map { ($0, nil) } }
    var found: [(quake: Quake, distance: Double)] = quakes.compactMap { quake in
      vicinity.distance(to: quake).map { (quake, $0) }
    }
    if order == .distance {
      found.sort { isReversed ? $0.distance > $1.distance : $0.distance < $1.distance }
    }
    return found.prefix(limit ?? .max).map { ($0.quake, $0.distance) }
  }

  /// Returns the colour for a quake of this magnitude, or `nil` if the quake is not highlighted.
  static func color(_ magnitude: Double?) -> Color? {
    guard let magnitude, magnitude >= 3 else { return nil }
    return magnitude >= 6 ? .red : magnitude >= 4.5 ? .yellow : .cyan
  }
}
