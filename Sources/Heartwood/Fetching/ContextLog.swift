import Foundation
import Synchronization

/// Logs fetches and saves, for performance analysis.
///
/// The environment variable `HEARTWOOD_LOG` sets the level, like `-com.apple.CoreData.SQLDebug`. A
/// program can also set the level, and redirect the output.
///
/// ```swift
/// ContextLog.level = .values
/// ContextLog.handler = { line in logger.debug("\(line)") }
/// ```
public enum ContextLog {
  /// The amount of detail in the log; each level includes those before it.
  ///
  /// The raw value is that of `HEARTWOOD_LOG`.
  public enum Level: Int, Comparable, Sendable {
    /// Logs nothing.
    case off = 0
    /// Logs each fetch, save and batch request, with its duration.
    case operations = 1
    /// Logs the compared values, too.
    case values = 2
    /// Logs the IDs found or saved, too.
    case objectIDs = 3
    /// Logs the access path of each fetch, too.
    case accessPaths = 4

    /// Returns whether the first level logs less than the second.
    public static func < (first: Level, second: Level) -> Bool { first.rawValue < second.rawValue }
  }

  private static let current = Atomic(
    max(0, min(Int(ProcessInfo.processInfo.environment["HEARTWOOD_LOG"] ?? "") ?? 0, 4)))
  private static let output = Mutex<(@Sendable (String) -> Void)?>(nil)

  /// The log level; `off` by default.
  public static var level: Level {
    get { Level(rawValue: current.load(ordering: .relaxed)) ?? .off }
    set { current.store(newValue.rawValue, ordering: .relaxed) }
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

    fileprivate func phrase(_ level: Level) -> String {
      let conditions = level >= .values ? plan.namesWithValues : plan.names
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
    if level >= .objectIDs { line += ": \(numbers.map { "\(ManagedObjectID($0, space))" })" }
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
    guard level > .off else { return }
    var line = "saved \(counts) as \(generation) in \(duration)"
    if level >= .objectIDs { line += ": \(objects.map { "\(ManagedObjectID($0.number, space))" })" }
    write(line)
  }

  static func executed(
    _ request: String, _ count: Int, _ generation: Generation, _ duration: Duration
  ) {
    guard level > .off else { return }
    write("\(request): \(count) as \(generation) in \(duration)")
  }

  private static func write(_ line: String) {
    if let handler { return handler(line) }
    FileHandle.standardError.write(Data("heartwood: \(line)\n".utf8))
  }
}
