import Dispatch
import Foundation
import Heartwood
import Synchronization

/// Measures the rate at which a feed returns changes as JSON documents, and the rate at which
/// another store applies them.
///
/// The changes come from a batch insertion, followed by an update of every tenth quake.
final class FeedRates {
  /// The results of the measurements.
  struct Outcome {
    let out, into: Slices
    /// The median size of an event, in bytes.
    let byteCount: Int
    let hash: UInt64

    /// The result as a sentence.
    var summary: String {
      "events of \(byteCount.grouped) bytes; durable transactions of at most 10,000 events"
    }
  }

  private static let roundCount = 5
  private static let updateShare = 10

  private let options: StoreOptions
  private let quakes: [Quake]
  private let progress: Progress

  init(_ quakes: [Quake], _ options: StoreOptions, _ progress: Progress) {
    self.quakes = quakes
    self.progress = progress
    self.options = options
  }

  /// Runs the measurements on stores in a directory, which the caller must remove afterwards.
  func run(in directory: String) throws -> Outcome {
    let source = try makeContainer(directory + "/source")
    try fill(source)
    var (out, into): ([Double], [Double]) = ([], [])
    var events: [Data] = []
    for round in 0...Self.roundCount {
      progress.show(
        Workload.feed.rawValue, fraction: Double(round) / Double(Self.roundCount + 1))
      let clock = ContinuousClock()
      let reading = try clock.measure { events = try readEvents(of: source) }
      let copy = try makeContainer(directory + "/copy-\(round)")
      let applying = try clock.measure { try copy.apply(events: events) }
      guard try count(copy) == quakes.count else {
        throw BenchFailure("The copy's quakes differ from the source's.")
      }
      try finish(copy)
      // Do not count the first round, which is a warm-up.
      guard round > 0 else { continue }
      out.append(Double(events.count) / reading.inSeconds)
      into.append(Double(events.count) / applying.inSeconds)
    }
    try finish(source)
    let operationCount = Self.roundCount * events.count
    return Outcome(
      out: Slices(rates: out, operationCount: operationCount),
      into: Slices(rates: into, operationCount: operationCount),
      byteCount: events.map(\.count).sorted()[events.count / 2],
      hash: fold(0, UInt64(events.count)))
  }

  private func fill(_ container: PersistentContainer) throws {
    var rest = quakes[...]
    let insertion = BatchInsertRequest<GraphQuake> { row in
      guard let quake = rest.popFirst() else { return true }
      row.take(quake)
      return false
    }
    let context = container.newContext()
    try context.execute(insertion)
    try context.performAndWait {
      let request = FetchRequest<GraphQuake>(limit: max(quakes.count / Self.updateShare, 1))
      for quake in try context.fetch(request) { quake.depth += 1 }
      try context.save()
    }
  }

  /// Returns all events of the history, as JSON documents.
  private func readEvents(of container: PersistentContainer) throws -> [Data] {
    let wanted = quakes.count + max(quakes.count / Self.updateShare, 1)
    return try Self.wait {
      var events: [Data] = []
      events.reserveCapacity(wanted)
      for try await event in try container.changeFeed(from: .oldestTransaction) {
        events.append(try event.json())
        if events.count == wanted { break }
      }
      return events
    }
  }

  /// Runs asynchronous work, and waits for its result.
  private static func wait<Result: Sendable>(
    _ body: @escaping @Sendable () async throws -> Result
  ) throws -> Result {
    let result = SharedResult<Result>()
    let end = DispatchSemaphore(value: 0)
    Task.detached {
      do { result.set(.success(try await body())) } catch { result.set(.failure(error)) }
      end.signal()
    }
    end.wait()
    return try result.get()
  }

  private func count(_ container: PersistentContainer) throws -> Int {
    try container.newContext().count(for: FetchRequest<GraphQuake>())
  }

  private func makeContainer(_ directory: String) throws -> PersistentContainer {
    try FileManager.default.createDirectory(
      at: URL(filePath: directory).deletingLastPathComponent(), withIntermediateDirectories: true)
    var all = ContainerOptions()
    all.store = options
    return try PersistentContainer(
      url: URL(filePath: directory), schema: Schema(GraphItem.self, GraphQuake.self), options: all)
  }

  private func finish(_ container: PersistentContainer) throws {
    let findings = try container.store.verify().findings
    guard findings.isEmpty else {
      throw BenchFailure("The store is damaged: \(findings.joined(separator: "; "))")
    }
    try container.store.close()
  }
}

/// The result of work on another thread.
private final class SharedResult<Success: Sendable>: Sendable {
  private let result = Mutex<Result<Success, any Error>?>(nil)

  func set(_ new: Result<Success, any Error>) { result.withLock { $0 = new } }

  func get() throws -> Success {
    guard let known = result.withLock({ $0 }) else {
      throw BenchFailure("The thread ended without a result.")
    }
    return try known.get()
  }
}
