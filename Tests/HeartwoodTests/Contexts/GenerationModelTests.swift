import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

@Suite("Random work of two processes")
struct GenerationModelTests {
  @Test(
    .spawning, .evidence("QG-04"), .evidence("QG-07"), .evidence("QG-08"), .evidence("QG-11"),
    .evidence("QG-12"), .evidence("QG-14"), .evidence("QG-16"), .evidence("QG-22"),
    .evidence("QG-23"), .evidence("QG-24"), .evidence("QG-26"), .evidence("QG-27"),
    .evidence("QG-33"), .evidence("QG-38"), .evidence("QG-48"), .evidence("QG-54"),
    .evidence("QG-55"),
    .evidence("C-02"), .evidence("H-01"), .evidence("H-02"),
    arguments: 0..<UInt64(TestScale.pick(quick: 1, all: 2, long: 40)))
  func `every context shows the generation that it reads`(seed: UInt64) async throws {
    let scratch = try ScratchDirectory()
    let (directory, url) = (scratch.path(of: ""), URL(filePath: scratch.path(of: "store")))
    try TileRun.fill(url)
    try TilePipe.make(in: directory)
    async let served: Void = Self.other(directory, url.path)
    let stepCount = TestScale.pick(quick: 120, all: 220, long: 1500)
    let failure = await Self.drive(directory, url, seed, steps: stepCount)
    await served
    if let failure { Issue.record("seed \(seed), \(failure)") }
  }

  /// Starts the other process, which executes commands until the pipe is closed.
  private static func other(_ directory: String, _ store: String) async {
    await #expect(processExitsWith: .success) {
      [directory = directory as String, store = store as String] in
      try TilePipe.serve(
        directory, store: URL(filePath: store), contextCount: TileRun.otherCount)
    }
    TilePipe.release(directory)
  }

  /// Runs the steps on a separate thread, because tasks must not wait for the other process.
  ///
  /// - Returns: A description of the failure, or `nil` if all steps succeeded.
  private static func drive(
    _ directory: String, _ store: URL, _ seed: UInt64, steps: Int
  ) async -> String? {
    await withCheckedContinuation { continuation in
      let thread = Thread {
        var failure: String?
        do {
          let pipe = try TilePipe(in: directory, commands: true)
          defer { try? pipe.close() }
          var run = try TileRun(store, pipe, seed: seed)
          try run.run(steps: steps)
        } catch {
          failure = "\(error)"
        }
        continuation.resume(returning: failure)
      }
      thread.stackSize = 8 << 20
      thread.start()
    }
  }
}
