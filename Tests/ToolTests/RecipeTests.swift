import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

/// Runs the scripts in `Docs/Recipes` with the programs that they need.
@Suite("Recipes")
struct RecipeTests {
  @Test(
    .mustEnd,
    .enabled(if: Recipe.path(of: "rclone") != nil, "The program rclone is not installed."),
    arguments: [false, true])
  func `a backup on a server restores the store`(isS3: Bool) throws {
    let store = try ObjectStore(oddities: false)
    let directory = try ScratchDirectory()
    let server = isS3 ? try S3Server(Recipe.path(of: "moto_server")) : nil
    // If no such server is installed, rclone copies to a directory.
    let remote = server == nil ? directory.path(of: "remote") : "s3:backups/shop"
    let environment = server?.rclone ?? ["RCLONE_CONFIG": "/dev/null"]
    let backup = directory.path(of: "backup")
    let arguments = [store.fixture.path, backup, remote]
    for name in ["A", "B", "C"] {
      try store.keep(name)
      try store.change { ToolTeam(context: $0).name = name }
      // The script can be interrupted at any time and run again.
      if name == "B" { try Recipe.run("backup-to-s3", arguments, environment, for: 150) }
      let run = try Recipe.run("backup-to-s3", arguments, environment)
      #expect(run.exitCode == 0, "\(run.output)")
    }
    for (at, count) in [("A", 3), ("B", 4), ("C", 5), ("", 6)] {
      let target = directory.path(of: "restored-\(at)")
      let run = try Recipe.run(
        "restore-from-s3",
        [remote, directory.path(of: "copy-\(at)"), target] + (at.isEmpty ? [] : ["--at", at]),
        environment)
      #expect(run.exitCode == 0, "\(run.output)")
      #expect(try ToolRun("query", target, "Team", "--count").output == "\(count)\n")
      try ToolRun("verify", target).expectFine()
    }
  }
}

/// A server on this machine with the S3 interface, which ends when the object is released.
private final class S3Server {
  private let process = Process()
  private let port = Int.random(in: 20_000..<60_000)

  /// The settings of rclone's remote `s3`.
  var rclone: [String: String] {
    [
      "RCLONE_CONFIG": "/dev/null", "RCLONE_CONFIG_S3_TYPE": "s3",
      "RCLONE_CONFIG_S3_PROVIDER": "Other",
      "RCLONE_CONFIG_S3_ACCESS_KEY_ID": "key",
      "RCLONE_CONFIG_S3_SECRET_ACCESS_KEY": "secret",
      "RCLONE_CONFIG_S3_ENDPOINT": "http://127.0.0.1:\(port)",
    ]
  }

  /// Starts the server and waits until it answers, or returns `nil` if there is no program.
  init?(_ program: String?) throws {
    guard let program else { return nil }
    process.executableURL = URL(filePath: program)
    process.arguments = ["-H", "127.0.0.1", "-p", "\(port)"]
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    try process.start()
    for _ in 0..<100 where try !isListening() { usleep(100_000) }
  }

  private func isListening() throws -> Bool {
    let listing = Process()
    listing.executableURL = URL(filePath: "/usr/bin/env")
    listing.arguments = ["rclone", "lsd", "s3:", "--retries", "1", "--low-level-retries", "1"]
    listing.environment = ProcessInfo.processInfo.environment.merging(rclone) { $1 }
      .filter { $0.key != "AWS_CA_BUNDLE" }
    listing.standardOutput = FileHandle.nullDevice
    listing.standardError = FileHandle.nullDevice
    try listing.start()
    listing.waitUntilExit()
    return listing.terminationStatus == 0
  }

  deinit {
    if process.processIdentifier > 0 { kill(process.processIdentifier, SIGKILL) }
  }
}
