import Foundation

/// Tells of fetches and saves, for people who look for what is slow.
///
/// The environment variable `HEARTWOOD_LOG` sets the level: 1 for what was done and how long it
/// took, as `-com.apple.CoreData.SQLDebug 1` does. Lines go to the standard error.
public enum ContextLog {
  /// What is told of: nothing (0) or each fetch and save (1).
  public static let level = Int(ProcessInfo.processInfo.environment["HEARTWOOD_LOG"] ?? "") ?? 0

  static func fetched(_ plan: FetchPlan, _ count: Int, _ duration: Duration) {
    guard level > 0 else { return }
    write("fetched \(count) of \(plan.sentence) in \(duration)")
  }

  static func saved(_ counts: String, _ generation: Generation, _ duration: Duration) {
    guard level > 0 else { return }
    write("saved \(counts) as \(generation) in \(duration)")
  }

  private static func write(_ line: String) {
    FileHandle.standardError.write(Data("heartwood: \(line)\n".utf8))
  }
}
