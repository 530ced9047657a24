import Foundation
import HeartwoodTestSupport
import Testing

/// A program that runs in parallel with a test, which reads its output line by line.
final class StartedProgram {
  private let process = Process()
  private let output = Pipe()

  init(_ program: String, _ arguments: [String]) throws {
    process.executableURL = try ProgramRun.executable(program)
    process.arguments = arguments
    process.standardOutput = output
    try process.start()
  }

  /// Waits for the next line of output, and returns it.
  func line() throws -> String {
    var line = Data()
    while true {
      let byte = try #require(try output.fileHandleForReading.read(upToCount: 1), "output ended")
      try #require(!byte.isEmpty, "the program has ended after \(line)")
      if byte == Data("\n".utf8) { return String(decoding: line, as: UTF8.self) }
      line += byte
    }
  }

  /// Waits for the program to end without further output, and returns its exit code.
  func end() throws -> Int32 {
    #expect(try output.fileHandleForReading.readToEnd() ?? Data() == Data())
    process.waitUntilExit()
    return process.terminationStatus
  }

  deinit { if process.isRunning { process.terminate() } }
}
