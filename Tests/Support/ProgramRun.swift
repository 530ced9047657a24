package import Foundation
package import Testing

/// A run of one of the package's programs, with its output and its exit code.
package struct ProgramRun {
  package let output: String
  package let complaint: String
  package let exitCode: Int32

  /// Runs the program with the given arguments, and with a pipe as its standard output.
  ///
  /// - Parameter input: The contents of its standard input.
  package init(
    _ program: String, _ arguments: [String], environment: [String: String] = [:],
    input: Data = Data()
  ) throws {
    let process = Process()
    process.executableURL = try Self.executable(program)
    process.arguments = arguments
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    let output = Pipe()
    // Use files for the other two streams, because a full pipe would block its writer until the
    // other side reads.
    let directory = try ScratchDirectory()
    process.standardOutput = output
    process.standardError = try Self.file(directory.path(of: "complaint")).forWriting
    process.standardInput = try Self.file(directory.path(of: "input"), input).forReading
    try process.start()
    let said = try output.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    try #require(process.terminationReason == .exit, "ended by a signal: \(arguments)")
    self.output = String(decoding: said, as: UTF8.self)
    complaint = try String(contentsOfFile: directory.path(of: "complaint"), encoding: .utf8)
    exitCode = process.terminationStatus
  }

  /// Returns the URL of the executable, which is in the same directory as the test bundle.
  package static func executable(_ program: String) throws -> URL {
    let bundle = Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") }
    let directory = bundle?.bundleURL.deletingLastPathComponent() ?? Bundle.main.bundleURL
    let executable = directory.appendingPathComponent(program)
    try #require(FileManager.default.isExecutableFile(atPath: executable.path), "\(executable)")
    return executable
  }

  private static func file(
    _ path: String, _ content: Data = Data()
  ) throws -> (forReading: FileHandle, forWriting: FileHandle) {
    let url = URL(filePath: path)
    try content.write(to: url)
    return (try FileHandle(forReadingFrom: url), try FileHandle(forWritingTo: url))
  }

  package var lines: [String] {
    output.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
  }

  /// Parses the output as one JSON document, which must be an object or an array.
  package func json<Document>(_ type: Document.Type = Document.self) throws -> Document {
    let document = try JSONSerialization.jsonObject(with: Data(output.utf8))
    return try #require(document as? Document)
  }

  /// Expects that the run succeeded and printed no errors.
  package func expectFine(_ location: SourceLocation = #_sourceLocation) {
    #expect(exitCode == 0, sourceLocation: location)
    #expect(complaint == "", sourceLocation: location)
  }

  /// Expects no output, and one line of error text that contains the given words after the
  /// program's name.
  package func expectComplaint(
    of program: String, _ words: [String], exitCode: Int32, _ location: SourceLocation
  ) {
    #expect(self.exitCode == exitCode, "\(complaint)", sourceLocation: location)
    #expect(output == "", sourceLocation: location)
    #expect(complaint.hasPrefix("\(program): "), "\(complaint)", sourceLocation: location)
    #expect(complaint.count { $0 == "\n" } == 1, "\(complaint)", sourceLocation: location)
    for word in words {
      #expect(complaint.contains(word), "\(complaint)", sourceLocation: location)
    }
  }
}
