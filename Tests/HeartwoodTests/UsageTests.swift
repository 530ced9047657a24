import Foundation
import HeartwoodTestSupport
import Testing

/// Compiles the usage program without its `@main` attribute, and runs it with another `main`.
@Suite(
  "The usage program",
  .enabled(if: BuiltModules.directory != nil, "no built modules beside the tests"))
struct UsageTests {
  @Test(arguments: TestScale.some([[], ["-default-isolation", "MainActor"]]))
  func `the usage program runs under either default isolation`(options: [String]) throws {
    let directory = try #require(BuiltModules.directory)
    let scratch = try ScratchDirectory()
    let here = URL(filePath: #filePath).deletingLastPathComponent()
    let usage = try String(
      contentsOf: here.appending(path: "../Contract/Usage/Usage.swift"), encoding: .utf8)
    let lines = usage.split(separator: "\n", omittingEmptySubsequences: false)
    let copy = lines.filter { !$0.hasPrefix("@main") }.joined(separator: "\n")
    #expect(copy != usage)
    try Data(copy.utf8).write(to: URL(filePath: scratch.path(of: "Usage.swift")))
    let driver = here.appending(path: "Programs/UsageDriver.swift").path
    let program = scratch.path(of: "program")
    let built = try BuiltModules.run(
      "swiftc",
      ["-swift-version", "6", "-parse-as-library", "-o", program, "-I", directory]
        + [scratch.path(of: "Usage.swift"), driver] + (try BuiltModules.objects(in: directory))
        + options)
    #expect(built.exitCode == 0, "\(built.output)")
    let ran = try BuiltModules.run(program, [scratch.path(of: "store")])
    #expect(ran.exitCode == 0, "\(ran.output)")
    #expect(ran.output.contains("all is well"))
    // Each of the two calls prints a hundred strong quakes.
    #expect(ran.output.split(separator: "\n").filter { $0.contains("place ") }.count == 200)
  }
}
