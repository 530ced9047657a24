import Foundation
import Synchronization

/// A log of fetches and saves, for performance analysis.
///
/// The environment variable `HEARTWOOD_LOG` sets the level, like Core Data's
/// `-com.apple.CoreData.SQLDebug`. Your code can also set the level and redirect the output.
///
/// ```swift
/// ContextLog.level = .values
/// ContextLog.handler = { line in logger.debug("\(line)") }
/// ```
public enum ContextLog {
  /// The amount of detail in the log.
  ///
  /// Each level includes the lower levels. The raw value is the value of `HEARTWOOD_LOG` that
  /// selects the level.
  public enum Level: Int, Comparable, Sendable {
    /// Logs nothing.
    case off = 0
    /// Logs each fetch, save and batch request, with its duration.
    case operations = 1
    /// Also logs the values in the conditions.
    case values = 2
    /// Also logs the IDs that were found or saved.
    case objectIDs = 3
    /// Also logs the access path of each fetch.
    case accessPaths = 4

    /// Returns whether the first level includes less detail than the second.
    public static func < (first: Level, second: Level) -> Bool { first.rawValue < second.rawValue }
  }

  private static let current = Atomic(
    max(0, min(Int(ProcessInfo.processInfo.environment["HEARTWOOD_LOG"] ?? "") ?? 0, 4)))
  private static let output = Mutex<(@Sendable (String) -> Void)?>(nil)

  /// The log level, which is `off` by default.
  public static var level: Level {
    get { Level(rawValue: current.load(ordering: .relaxed)) ?? .off }
    set { current.store(newValue.rawValue, ordering: .relaxed) }
  }

  /// The closure that receives the log lines, or `nil` to write them to standard error.
  ///
  /// The closure is called on the thread that fetches or saves, so several threads may call it at
  /// once.
  public static var handler: (@Sendable (_ line: String) -> Void)? {
    get { output.withLock { $0 } }
    set { output.withLock { $0 = newValue } }
  }

  /// The information about a fetch that appears in the log.
  struct Fetch {
    let plan: FetchPlan
    /// The access path, if the log level includes access paths.
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
    _ counts: String, _ objects: some Sequence<ManagedObject>, _ space: ManagedObjectID.Space,
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
