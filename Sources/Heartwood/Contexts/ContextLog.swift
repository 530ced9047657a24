import Foundation
import Synchronization

/// Tells of fetches and saves, for people who look for what is slow.
///
/// The environment variable `HEARTWOOD_LOG` sets the level, as `-com.apple.CoreData.SQLDebug` does;
/// a program can set it too, and say where the lines go.
///
/// ```swift
/// ContextLog.level = 2
/// ContextLog.handler = { line in logger.debug("\(line)") }
/// ```
public enum ContextLog {
  private static let current = Atomic(
    Int(ProcessInfo.processInfo.environment["HEARTWOOD_LOG"] ?? "") ?? 0)
  private static let output = Mutex<(@Sendable (String) -> Void)?>(nil)

  /// What is told of: nothing (0); each fetch and save and how long it took (1); the values that
  /// were asked for (2); the IDs that were found (3); the indexes that were used (4).
  public static var level: Int {
    get { current.load(ordering: .relaxed) }
    set { current.store(newValue, ordering: .relaxed) }
  }

  /// Where the lines go; to the standard error if it is `nil`.
  ///
  /// Called by whoever fetches or saves, so by several threads at once perhaps.
  public static var handler: (@Sendable (_ line: String) -> Void)? {
    get { output.withLock { $0 } }
    set { output.withLock { $0 = newValue } }
  }

  static func fetched(
    _ plan: FetchPlan, _ numbers: @autoclosure () -> [ObjectNumber],
    _ space: ManagedObjectID.Space, _ duration: Duration
  ) {
    guard level > 0 else { return }
    let numbers = numbers()
    var line = "fetched \(numbers.count) of \(plan.sentence(withValues: level > 1)) in \(duration)"
    if level > 2 { line += ": \(numbers.map { "\(ManagedObjectID($0, space))" })" }
    if level > 3 { line += "; looked at \(plan.way)" }
    write(line)
  }

  static func counted(_ plan: FetchPlan, _ count: Int, _ duration: Duration) {
    guard level > 0 else { return }
    var line = "counted \(count) of \(plan.sentence(withValues: level > 1)) in \(duration)"
    if level > 3 { line += "; looked at \(plan.way)" }
    write(line)
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
