import Synchronization
import Testing

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// The objects that tests have created and that must not outlive the tests.
///
/// When the process ends, objects that are still alive are printed with the names of their tests,
/// and the exit code becomes 1. The check is made at the end, because background threads may use a
/// container for a moment after a test has released it.
package enum LiveObjects {
  // The `@unchecked` conformance is safe, because an entry only tests whether its object exists.
  private struct Entry: @unchecked Sendable {
    weak var object: AnyObject?
    let type: String
    let test: String
  }

  private static let entries = Mutex<[Entry]>([])
  private static let seconds = 10.0

  /// A Boolean value that indicates whether the check was registered.
  ///
  /// The first use of this property registers the check.
  private static let isChecked: Bool = atexit { LiveObjects.check() } == 0

  /// Adds objects that must have been deallocated by the time the process ends.
  ///
  /// In an exit test, the method does nothing, because the test's process ends while its objects
  /// are still alive.
  package static func track<Object: AnyObject>(_ objects: some Sequence<Object>) {
    guard let test = Test.current?.id, isChecked else { return }
    let added = objects.map { Entry(object: $0, type: "\(type(of: $0))", test: "\(test)") }
    entries.withLock { entries in
      if entries.count > 10_000 { entries.removeAll { $0.object == nil } }
      entries += added
    }
  }

  private static func check() {
    var remaining = left()
    for _ in 0..<Int(seconds * 100) where !remaining.isEmpty {
      usleep(10_000)
      remaining = left()
    }
    if remaining.isEmpty { return }
    for (description, count) in remaining.sorted(by: { $0.key < $1.key }) {
      print("error: still alive at the end: \(count) × \(description)")
    }
    fflush(nil)
    _exit(1)
  }

  /// Returns the number of live objects by type and test.
  private static func left() -> [String: Int] {
    entries.withLock { entries in
      entries.reduce(into: [:]) { counts, entry in
        if entry.object != nil { counts["\(entry.type), of \(entry.test)", default: 0] += 1 }
      }
    }
  }
}
