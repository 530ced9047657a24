/// A thread-safe watch on a file in memory.
final class MemoryWatch: FileWatch, @unchecked Sendable {
  // `@unchecked` is safe because `lock` guards `isOver`.
  private let lock = Lock()
  /// A Boolean value that indicates whether the next wait should return immediately.
  private var isOver = false

  func wait(milliseconds: UInt64) {
    lock.withLock {
      if !isOver { lock.wait(milliseconds: milliseconds) }
      isOver = false
    }
  }

  func end() {
    lock.withLock {
      isOver = true
      lock.wakeAll()
    }
  }
}

/// The watches on one file.
///
/// Each watch ends when its last reference is released.
struct MemoryWatches {
  private struct Entry {
    weak var watch: MemoryWatch?
  }

  private var entries: [Entry] = []

  mutating func add() -> MemoryWatch {
    let watch = MemoryWatch()
    entries.removeAll { $0.watch == nil }
    entries.append(Entry(watch: watch))
    return watch
  }

  func wakeAll() { for entry in entries { entry.watch?.end() } }
}
