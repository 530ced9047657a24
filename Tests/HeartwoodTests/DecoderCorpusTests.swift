import Foundation
import FuzzTargets
import HeartwoodTestSupport
import Testing

/// Runs the inputs of the fuzz targets that read untrusted bytes.
///
/// Each input reaches a code path that no other input reaches, or once revealed a bug.
@Suite("Untrusted bytes")
struct DecoderCorpusTests {
  private static let directory = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent()
    .appendingPathComponent("Fuzzing/Corpus")

  @Test(.evidence("B2"), .evidence("B3"), arguments: FuzzTarget.all)
  func `are read correctly or rejected`(target: FuzzTarget) throws {
    let directory = Self.directory.appendingPathComponent(target.name)
    let names = try FileManager.default.contentsOfDirectory(atPath: directory.path)
    try #require(names.count > 1, "no corpus in \(directory.path)")
    for name in names.sorted() {
      let input = try [UInt8](Data(contentsOf: directory.appendingPathComponent(name)))
      #expect(target.finding(for: input) == nil, "\(target)/\(name)")
    }
  }

  @Test(.evidence("B3"), arguments: FuzzTarget.all)
  func `are not rejected if the program has written them`(target: FuzzTarget) throws {
    for seed in try target.seeds() {
      #expect(target.rejection(of: seed) == nil, "\(target): \(seed)")
    }
  }
}
