import Foundation
import HeartwoodTestSupport
import Testing

/// A running script of `Docs/Recipes`, which ends when the object is released.
final class Recipe {
  private let process = Process()
  private let directory: ScratchDirectory
  private var isKilled = false
  private var log: URL { URL(filePath: directory.path(of: "log")) }

  /// Starts a script, and runs its programs in one process group.
  ///
  /// - Parameter tools: The directory of `heartwoodctl`.
  init(
    _ script: String, _ arguments: [String], _ environment: [String: String], tools: String? = nil
  ) throws {
    directory = try ScratchDirectory()
    let recipes = URL(filePath: #filePath).appending(path: "../../../Docs/Recipes")
    process.executableURL = recipes.appending(path: script).standardizedFileURL
    process.arguments = arguments
    let built = try ToolRun.executable().deletingLastPathComponent().path(percentEncoded: false)
    let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
      .merging(["PATH": (tools ?? built) + ":" + path]) { $1 }
      // The server on this machine has no certificate, and old versions of rclone refuse custom
      // certificates.
      .filter { $0.key != "AWS_CA_BUNDLE" }
    try Data().write(to: log)
    let file = try FileHandle(forWritingTo: log)
    (process.standardOutput, process.standardError) = (file, file)
    process.standardInput = FileHandle.nullDevice
    try process.start()
    try #require(getpgid(process.processIdentifier) == process.processIdentifier)
  }

  /// Runs a script for at most the given time, and returns its exit code and its output.
  @discardableResult
  static func run(
    _ script: String, _ arguments: [String], _ environment: [String: String] = [:],
    tools: String? = nil, for milliseconds: Int = 300_000
  ) throws -> (exitCode: Int32, output: String) {
    let recipe = try Recipe(script, arguments, environment, tools: tools)
    recipe.wait(for: milliseconds)
    recipe.kill()
    return (recipe.process.terminationStatus, try recipe.output())
  }

  var isRunning: Bool { process.isRunning }

  /// Waits until the script has ended, for at most the given time.
  func wait(for milliseconds: Int = 300_000) {
    let end = ContinuousClock.now + .milliseconds(milliseconds)
    while isRunning, ContinuousClock.now < end { usleep(2000) }
  }

  /// Returns the output of the script so far.
  func output() throws -> String { try String(contentsOf: log, encoding: .utf8) }

  /// Kills one of the script's programs, if it is running.
  func kill(_ program: String) throws {
    _ = try BuiltModules.run("pkill", ["-KILL", "-g", "\(process.processIdentifier)", program])
  }

  /// Kills the script and its programs.
  func kill() {
    // Another process group may later get the same ID. If the script could not be started, its ID
    // is 0, which would mean the group of the tests.
    guard !isKilled, process.processIdentifier > 0 else { return }
    isKilled = true
    Foundation.kill(-process.processIdentifier, SIGKILL)
    process.waitUntilExit()
  }

  deinit { kill() }

  // MARK: Programs

  static func path(of program: String) -> String? {
    (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
      .map { "\($0)/\(program)" }.first { FileManager.default.isExecutableFile(atPath: $0) }
  }

  static func hasModule(_ name: String) -> Bool {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = ["python3", "-c", "import \(name)"]
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    guard (try? process.start()) != nil else { return false }
    process.waitUntilExit()
    return process.terminationStatus == 0
  }
}
