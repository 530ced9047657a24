import Foundation
import Testing

/// One run of the built `heartwoodctl`: what it was given, and what it said.
struct ToolRun {
  let output: String
  let complaint: String
  let exitCode: Int32

  /// Runs the tool with these arguments, its standard output a pipe.
  init(_ arguments: [String], environment: [String: String] = [:]) throws {
    let process = Process()
    process.executableURL = try Self.executable()
    process.arguments = arguments
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    let output = Pipe()
    // A file, because two pipes that fill up in turn need two readers.
    let complaints = FileManager.default.temporaryDirectory
      .appendingPathComponent("heartwood-\(UUID().uuidString)")
    _ = FileManager.default.createFile(atPath: complaints.path, contents: nil)
    defer { try? FileManager.default.removeItem(at: complaints) }
    process.standardOutput = output
    process.standardError = try FileHandle(forWritingTo: complaints)
    process.standardInput = FileHandle.nullDevice
    try process.run()
    let said = try output.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    try #require(process.terminationReason == .exit, "ended by a signal: \(arguments)")
    self.output = String(decoding: said, as: UTF8.self)
    complaint = try String(contentsOf: complaints, encoding: .utf8)
    exitCode = process.terminationStatus
  }

  init(_ arguments: String...) throws { try self.init(arguments) }

  /// The executable lies beside the bundle of the tests, wherever that was built.
  static func executable() throws -> URL {
    let bundle = Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") }
    let folder = bundle?.bundleURL.deletingLastPathComponent() ?? Bundle.main.bundleURL
    let executable = folder.appendingPathComponent("heartwoodctl")
    try #require(FileManager.default.isExecutableFile(atPath: executable.path), "\(executable)")
    return executable
  }

  /// The output as one JSON document.
  func json() throws -> [String: Any] {
    let document = try JSONSerialization.jsonObject(with: Data(output.utf8))
    return try #require(document as? [String: Any])
  }

  var lines: [String] {
    output.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
  }

  /// Expects that it ended well and complained of nothing.
  func expectFine(_ location: SourceLocation = #_sourceLocation) {
    #expect(exitCode == 0, sourceLocation: location)
    #expect(complaint == "", sourceLocation: location)
  }

  /// Expects one line of complaint that holds some words, and nothing else.
  func expectComplaint(
    _ words: String..., exitCode: Int32, location: SourceLocation = #_sourceLocation
  ) {
    #expect(self.exitCode == exitCode, "\(complaint)", sourceLocation: location)
    #expect(output == "", sourceLocation: location)
    #expect(complaint.hasPrefix("heartwoodctl: "), "\(complaint)", sourceLocation: location)
    #expect(complaint.count { $0 == "\n" } == 1, "\(complaint)", sourceLocation: location)
    for word in words {
      #expect(complaint.contains(word), "\(complaint)", sourceLocation: location)
    }
  }
}
