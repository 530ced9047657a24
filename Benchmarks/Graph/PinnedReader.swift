import Foundation
import Heartwood
import Synchronization

/// A thread that looks up quakes repeatedly in a pinned context.
///
/// The context stays pinned to the generation that was the newest when the thread started. All
/// reads of a quake must return the same values as the first read.
final class PinnedReader: Sendable {
  private struct State {
    var latencies = Latencies()
    var hash: UInt64 = 0
    var failure: (any Error)?
    var isStopped = false
  }

  private let container: PersistentContainer
  private let codes: [String]
  private let state = Mutex(State())
  private let hasBegun = DispatchSemaphore(value: 0)
  private let hasEnded = DispatchSemaphore(value: 0)

  /// The number of reads after which the thread checks whether it must stop.
  private static let readsPerTurn = 256

  init(_ container: PersistentContainer, _ codes: [String]) {
    self.container = container
    var random = RandomNumbers(seed: 4)
    self.codes = codes.shuffled(using: &random)
  }

  /// A hash of the values returned by the first read of each quake.
  var hash: UInt64 { state.withLock { $0.hash } }

  /// Starts the thread, and waits until it has read every quake once.
  func start() throws {
    let thread = Thread { self.run() }
    thread.name = "bench reader"
    thread.start()
    hasBegun.wait()
    _ = try takeLatencies()
  }

  /// Stops the thread, and waits for it to end.
  func stop() {
    let isNew = state.withLock { state in
      defer { state.isStopped = true }
      return !state.isStopped
    }
    if isNew { hasEnded.wait() }
  }

  /// Returns the latencies of the reads since the last call.
  ///
  /// - Throws: The error that stopped the thread.
  func takeLatencies() throws -> Latencies {
    try state.withLock { state in
      if let failure = state.failure { throw failure }
      defer { state.latencies = Latencies() }
      return state.latencies
    }
  }

  private func run() {
    do {
      let context = container.newContext()
      try context.performAndWait {
        try context.setQueryGenerationFrom(.current)
        let expected = try codes.map { try Self.read($0, context) }
        state.withLock { $0.hash = expected.reduce(0, fold) }
        hasBegun.signal()
        try read(expected, context)
      }
    } catch {
      state.withLock { $0.failure = error }
      hasBegun.signal()
    }
    hasEnded.signal()
  }

  private func read(_ expected: [UInt64], _ context: ManagedObjectContext) throws {
    var position = 0
    while !state.withLock({ $0.isStopped }) {
      var latencies = Latencies()
      for _ in 0..<Self.readsPerTurn {
        let start = ContinuousClock.now
        let found = try Self.read(codes[position], context)
        latencies.add(nanoseconds: start.duration(to: .now).inNanoseconds)
        guard found == expected[position] else {
          throw BenchFailure("The pinned context returned changed values for \(codes[position]).")
        }
        position = (position + 1) % codes.count
      }
      state.withLock { $0.latencies.add(latencies) }
    }
  }

  private static func read(_ code: String, _ context: ManagedObjectContext) throws -> UInt64 {
    guard let quake = try context.existingObject(where: \GraphQuake.code, equals: code) else {
      throw BenchFailure("The pinned context did not find the quake \(code).")
    }
    return quake.folded(into: 0)
  }
}
