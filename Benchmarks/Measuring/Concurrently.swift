import Foundation
import Synchronization

/// Calls `body` on several threads at the same time, and returns the results in the order of the
/// threads' numbers.
///
/// - Throws: The error of the first thread that failed.
func concurrently(
  _ threadCount: Int, _ body: @escaping @Sendable (_ thread: Int) throws -> UInt64
) throws -> [UInt64] {
  let results = ThreadResults()
  let group = DispatchGroup()
  for number in 0..<threadCount {
    group.enter()
    let thread = Thread {
      results.set(Result { try body(number) }, number)
      group.leave()
    }
    thread.name = "bench \(number)"
    thread.start()
  }
  group.wait()
  return try results.ordered()
}

/// The results of several threads.
private final class ThreadResults: Sendable {
  private let results = Mutex<[Int: Result<UInt64, any Error>]>([:])

  func set(_ result: Result<UInt64, any Error>, _ number: Int) {
    results.withLock { $0[number] = result }
  }

  func ordered() throws -> [UInt64] {
    let sorted = results.withLock { $0 }.sorted { $0.key < $1.key }
    return try sorted.map { try $0.value.get() }
  }
}
