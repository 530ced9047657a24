import Foundation
import Heartwood

/// Measures the time that live lists of results take to reflect changes saved by another context.
///
/// The measured time begins when a pinned context advances to the new generation, and ends when its
/// lists have reported the changes. The other context's save is not measured.
final class LiveResults {
  /// The results of the measurements.
  struct Outcome {
    /// The number of list updates per second, for each number of rows in the store.
    var slices: [(rowCount: Int, slices: Slices)] = []
    /// The number of changed rows processed per second by a thousand lists.
    let crowd: Slices
    let hash: UInt64

    /// The result as a sentence.
    var summary: String {
      let times = slices.map { count, slices in
        "\((1e6 / slices.median).grouped) µs with \(count.grouped) rows"
      }
      return "a list was updated with \(LiveResults.changedCount) changed rows in "
        + times.joined(separator: ", ") + "; \(LiveResults.listCount.grouped) lists with "
        + "\(LiveResults.crowdCount.grouped) in "
        + "\((1e3 * Double(LiveResults.crowdCount) / crowd.median).grouped) ms"
    }
  }

  fileprivate static let changedCount = 100
  fileprivate static let listCount = 1000
  fileprivate static let crowdCount = 10_000
  private static let roundCount = 11

  private var options: StoreOptions
  private let quakes: [Quake]
  private let progress: Progress
  private var random = RandomNumbers(seed: 3)
  private var hash: UInt64 = 0

  init(_ quakes: [Quake], _ options: StoreOptions, _ progress: Progress) {
    self.quakes = quakes
    self.progress = progress
    self.options = options
    self.options.durability = .normal
  }

  /// Runs the measurements on stores in a directory, which the caller must remove afterwards.
  func run(in directory: String) throws -> Outcome {
    var slices: [(rowCount: Int, slices: Slices)] = []
    for (position, count) in [max(quakes.count / 10, 1), quakes.count].enumerated() {
      let container = try makeContainer(directory + "/\(position)", count)
      let rates = try measure(
        container, [FetchRequest(sort: [SortDescriptor(\.time, order: .reverse)])],
        changed: min(Self.changedCount, count))
      slices.append((count, Slices(rates: rates, operationCount: rates.count)))
      try finish(container)
    }
    let crowdRows = min(quakes.count, 2 * Self.crowdCount)
    let container = try makeContainer(directory + "/crowd", crowdRows)
    let requests = (0..<Self.listCount).map { list -> FetchRequest<GraphQuake> in
      let (least, most) = (Float(list), Float(list) + 1)
      return FetchRequest(
        where: #Predicate { $0.depth >= least && $0.depth < most },
        sort: [SortDescriptor(\.magnitude)])
    }
    let changed = min(Self.crowdCount, crowdRows)
    let rates = try measure(container, requests, changed: changed)
    try finish(container)
    let crowd = Slices(
      rates: rates.map { $0 * Double(changed) }, operationCount: rates.count * changed)
    return Outcome(slices: slices, crowd: crowd, hash: hash)
  }

  /// Returns the number of updates per second in each round.
  ///
  /// - Parameter changed: The number of changed rows processed by each update.
  private func measure(
    _ container: PersistentContainer, _ requests: [FetchRequest<GraphQuake>], changed: Int
  ) throws -> [Double] {
    let context = container.newContext()
    try context.setQueryGenerationFrom(.current)
    let controllers = requests.map { FetchedResultsController(fetchRequest: $0, context: context) }
    for controller in controllers { try controller.performFetch() }
    let ids = try context.fetchObjectIDs(FetchRequest<GraphQuake>())
    var rates: [Double] = []
    for round in 0...Self.roundCount {
      progress.show(
        Workload.liveResults.rawValue, fraction: Double(round) / Double(Self.roundCount))
      try change(changed, of: ids, container)
      let duration = try ContinuousClock().measure {
        try context.setQueryGenerationFrom(.current)
        context.processPendingChanges()
      }
      hash = fold(hash, controllers.reduce(0) { $0 &+ UInt64($1.count) })
      if round > 0 { rates.append(1 / duration.inSeconds) }
    }
    return rates
  }

  /// Changes `count` random rows in another context, and saves it.
  private func change(
    _ count: Int, of ids: [ManagedObjectID], _ container: PersistentContainer
  ) throws {
    let context = container.newContext()
    try context.performAndWait {
      for _ in 0..<count {
        let id = ids[Int(random.next() % UInt64(ids.count))]
        guard let quake = try context.existingObject(GraphQuake.self, with: id) else { continue }
        quake.time += 1000
        quake.depth += 1
        quake.magnitude += 0.1
      }
      try context.save()
    }
  }

  private func makeContainer(_ directory: String, _ count: Int) throws -> PersistentContainer {
    progress.show("loading quakes", fraction: 0)
    try FileManager.default.createDirectory(
      at: URL(filePath: directory).deletingLastPathComponent(), withIntermediateDirectories: true)
    var all = ContainerOptions()
    all.store = options
    let container = try PersistentContainer(
      url: URL(filePath: directory), schema: Schema(GraphItem.self, GraphQuake.self), options: all)
    var rest = quakes[..<count]
    let request = BatchInsertRequest<GraphQuake> { row in
      guard let quake = rest.popFirst() else { return true }
      row.take(quake)
      return false
    }
    try container.newContext().execute(request)
    try container.store.checkpoint()
    return container
  }

  private func finish(_ container: PersistentContainer) throws {
    let findings = try container.store.verify().findings
    guard findings.isEmpty else {
      throw BenchFailure("The store is damaged: \(findings.joined(separator: "; "))")
    }
    try container.store.close()
  }
}
