import Foundation
import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Runs the inputs that the fuzzer found.
///
/// Each input reaches a code path that no other input reaches, or once revealed a bug.
@Suite("The corpus of the fuzzer")
struct FuzzCorpusTests {
  private static let directory = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent()
    .appendingPathComponent("Fuzzing/Corpus/stores")

  /// The sorted names of all inputs.
  private static let names: [String] = {
    let found = try? FileManager.default.contentsOfDirectory(atPath: directory.path)
    return (found ?? []).filter { !$0.hasPrefix(".") }.sorted()
  }()

  /// The number of groups into which the inputs are divided; the groups run in parallel.
  private static let groupCount = 4

  @Test(.evidence("B2"), .evidence("B3"), arguments: 0..<groupCount)
  func `leads to correct data or errors`(group: Int) throws {
    try #require(Self.names.count >= Self.groupCount, "no corpus in \(Self.directory.path)")
    let names = TestScale.some(
      stride(from: group, to: Self.names.count, by: Self.groupCount).map { Self.names[$0] },
      every: 24)
    for name in names {
      let input = try Data(contentsOf: Self.directory.appendingPathComponent(name))
      let damage = [UInt8](input).withBytes { StoreDamage($0) }
      #expect(try damage.run().findings == [], "\(name): \(damage)")
    }
  }

  @Test(arguments: 0..<20)
  func `has inputs that round-trip`(seed: UInt64) {
    var mutator = Mutator(seed: seed)
    let damage = mutator.damage(
      sample: Int(seed % 5), repairs: seed % 2 == 0, isSameBoot: seed % 3 == 0)
    #expect(damage.encoded.withBytes { StoreDamage($0) } == damage)
  }
}
