import Foundation
import HeartwoodTestSupport
import Testing

/// A database server on this machine, which ends when the object is released.
protocol RecipeServer: AnyObject {
  /// The environment variables with which clients find the server.
  var environment: [String: String] { get }

  /// Ends the server at once, and restarts it with the data that it had written.
  func crash(_ random: inout SeededGenerator) throws
}

private final class ServerProcess {
  private let process = Process()

  /// Starts a server, and waits until a program succeeds.
  init(_ arguments: [String], until ready: [String]) throws {
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = arguments
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    process.standardInput = FileHandle.nullDevice
    // PostgreSQL changes to its own directory, and cannot return to a directory that it is not
    // allowed to read.
    process.currentDirectoryURL = URL(filePath: "/")
    try process.start()
    while try BuiltModules.run(ready[0], Array(ready.dropFirst())).exitCode != 0 {
      try #require(process.isRunning, "\(arguments) has ended")
      usleep(20_000)
    }
  }

  func end(_ signal: Int32) {
    guard process.processIdentifier > 0 else { return }
    kill(process.processIdentifier, signal)
    process.waitUntilExit()
  }
}

final class RedisServer: RecipeServer {
  private let directory: ScratchDirectory
  private var process: ServerProcess?
  private var socket: String { directory.path(of: "socket") }

  static var isInstalled: Bool {
    Recipe.path(of: "redis-server") != nil && Recipe.path(of: "redis-cli") != nil
      && Recipe.hasModule("redis")
  }

  init() throws {
    directory = try ScratchDirectory()
    try start()
  }

  private func start() throws {
    process = try ServerProcess(
      [
        "redis-server", "--port", "0", "--unixsocket", socket, "--dir", directory.path,
        "--appendonly", "yes", "--save", "",
      ], until: ["redis-cli", "-e", "-s", socket, "ping"])
  }

  var environment: [String: String] { ["REDIS_URL": "unix://\(socket)"] }

  /// Cuts off the end of the log, as if the machine had failed before the server synced it.
  func crash(_ random: inout SeededGenerator) throws {
    process?.end(SIGKILL)
    let logs = URL(filePath: directory.path(of: "appendonlydir"))
    for log in try FileManager.default.contentsOfDirectory(at: logs, includingPropertiesForKeys: [])
    where log.lastPathComponent.contains(".incr.") {
      let file = try FileHandle(forWritingTo: log)
      let count = Int(try file.seekToEnd())
      try file.truncate(atOffset: UInt64(count - random.below(count / 2 + 1)))
    }
    try start()
  }

  func deleteAll() throws {
    _ = try BuiltModules.run("redis-cli", ["-s", socket, "flushall"])
  }

  deinit { process?.end(SIGKILL) }
}

final class PostgresServer: RecipeServer {
  private let directory: ScratchDirectory
  private var process: ServerProcess?

  /// The command that runs a program as another user, because the server refuses to run as root.
  private static let unprivileged: [String] =
    getuid() == 0
    ? ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] : []

  static var isInstalled: Bool {
    ["initdb", "postgres", "psql", "pg_isready"].allSatisfy { Recipe.path(of: $0) != nil }
      && (try? BuiltModules.run("env", unprivileged + ["true"]).exitCode) == 0
  }

  init() throws {
    directory = try ScratchDirectory()
    if let user = getpwnam("postgres"), getuid() == 0 {
      try #require(chown(directory.path, user.pointee.pw_uid, user.pointee.pw_gid) == 0)
    }
    let arguments = ["initdb", "-D", data, "-U", "recipes", "-A", "trust", "-N", "-E", "UTF8"]
    let run = try BuiltModules.run("env", Self.unprivileged + arguments, in: "/")
    try #require(run.exitCode == 0, "\(run.output)")
    try start()
  }

  private var data: String { directory.path(of: "data") }

  private func start() throws {
    let arguments = ["postgres", "-D", data, "-k", directory.path, "-c", "listen_addresses="]
    process = try ServerProcess(
      Self.unprivileged + arguments,
      until: ["pg_isready", "-h", directory.path, "-d", "postgres", "-U", "recipes"])
  }

  var environment: [String: String] {
    ["PGHOST": directory.path, "PGUSER": "recipes", "PGDATABASE": "postgres"]
  }

  func crash(_ random: inout SeededGenerator) throws {
    process?.end(SIGQUIT)
    try start()
  }

  func rows(_ query: String) throws -> [String] {
    let connection = ["-h", directory.path, "-U", "recipes", "-d", "postgres"]
    let run = try BuiltModules.run("psql", connection + ["-XAt", "-c", query])
    try #require(run.exitCode == 0, "\(run.output)")
    return run.output.split(separator: "\n").map(String.init)
  }

  deinit { process?.end(SIGQUIT) }
}
