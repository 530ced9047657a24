import Foundation

/// A program that shows long output page by page, such as `less`.
final class Pager {
  private let process = Process()
  private let pipe = Pipe()

  /// The descriptor to which the output is written.
  var descriptor: Int32 { pipe.fileHandleForWriting.fileDescriptor }

  /// Creates a pager by starting the program named by the environment variable `PAGER`, or `less`
  /// if the variable is not set.
  ///
  /// - Returns: `nil` if `PAGER` is empty or the program is missing.
  init?() {
    let environment = ProcessInfo.processInfo.environment
    let command = environment["PAGER"] ?? "less"
    let directories = (environment["PATH"] ?? "").split(separator: ":")
    guard let name = command.split(separator: " ").first, name != "cat",
      directories.contains(where: {
        FileManager.default.isExecutableFile(
          atPath: name.hasPrefix("/") ? "\(name)" : "\($0)/\(name)")
      })
    else { return nil }
    process.executableURL = URL(filePath: "/bin/sh")
    process.arguments = ["-c", "exec \(command)"]
    // Use the same options as git: quit if the output fits on one screen, show colours, and do not
    // clear the screen.
    process.environment = environment.merging(["LESS": "FRX"]) { own, _ in own }
    process.standardInput = pipe
    guard (try? process.run()) != nil else { return nil }
    try? pipe.fileHandleForReading.close()
  }

  /// Waits until the user has quit the program.
  func finish() {
    try? pipe.fileHandleForWriting.close()
    process.waitUntilExit()
  }
}
