import Foundation
import Synchronization

/// Logs fetches and saves, for performance analysis.
///
/// The environment variable `HEARTWOOD_LOG` sets the level, like `-com.apple.CoreData.SQLDebug`. A
/// program can also set the level, and redirect the output.
///
/// ```swift
/// ContextLog.level = 2
/// ContextLog.handler = { line in logger.debug("\(line)") }
/// ```
public enum ContextLog {
  private static let current = Atomic(
    Int(ProcessInfo.processInfo.environment["HEARTWOOD_LOG"] ?? "") ?? 0)
  private static let output = Mutex<(@Sendable (String) -> Void)?>(nil)

  /// The log level: 0 logs nothing; 1 each fetch and save with its duration; 2 also the compared
  /// values; 3 also the IDs found; 4 also the indexes used.
  public static var level: Int {
    get { current.load(ordering: .relaxed) }
    set { current.store(newValue, ordering: .relaxed) }
  }

  /// Receives the log lines; if it is `nil`, they go to standard error.
  ///
  /// The thread that fetches or saves calls it, so several threads may call it at once.
  public static var handler: (@Sendable (_ line: String) -> Void)? {
    get { output.withLock { $0 } }
    set { output.withLock { $0 = newValue } }
  }

  /// The description of a fetch for the log.
  struct Fetch {
    let plan: FetchPlan
    /// The access path, if the level includes it.
    let explanation: FetchExplanation?

    fileprivate func phrase(_ level: Int) -> String {
      let conditions = level > 1 ? plan.namesWithValues : plan.names
      return plan.entity.name
        + (conditions.isEmpty ? "" : " where \(conditions.joined(separator: " and "))")
    }

    fileprivate var accessPathPhrase: String {
      explanation.map { "; \($0.steps.joined(separator: " "))" } ?? ""
    }
  }

  static func fetched(
    _ fetch: Fetch, _ numbers: @autoclosure () -> [ObjectNumber],
    _ space: ManagedObjectID.Space, _ start: ContinuousClock.Instant
  ) {
    let numbers = numbers()
    var line = "fetched \(numbers.count) of \(fetch.phrase(level))"
    line += " in \(start.duration(to: .now))"
    if level > 2 { line += ": \(numbers.map { "\(ManagedObjectID($0, space))" })" }
    write(line + fetch.accessPathPhrase)
  }

  static func counted(_ fetch: Fetch, _ count: Int, _ start: ContinuousClock.Instant) {
    write(
      "counted \(count) of \(fetch.phrase(level)) in \(start.duration(to: .now))"
        + fetch.accessPathPhrase)
  }

  static func saved(
    _ counts: String, _ objects: [ManagedObject], _ space: ManagedObjectID.Space,
    _ generation: Generation, _ duration: Duration
  ) {
    guard level > 0 else { return }
    var line = "saved \(counts) as \(generation) in \(duration)"
    if level > 2 { line += ": \(objects.map { "\(ManagedObjectID($0.number, space))" })" }
    write(line)
  }

  static func executed(
    _ request: String, _ count: Int, _ generation: Generation, _ duration: Duration
  ) {
    guard level > 0 else { return }
    write("\(request): \(count) as \(generation) in \(duration)")
  }

  private static func write(_ line: String) {
    if let handler { return handler(line) }
    FileHandle.standardError.write(Data("heartwood: \(line)\n".utf8))
  }
}
