import Foundation
import Synchronization

/// A recorder of the property wrappers in the objects that the schema creates.
///
/// Each wrapper registers itself when it is initialised. The wrappers of a subclass register before
/// those of its superclass, and the wrappers of a single class register in declaration order. The
/// options of a declaration are available only during initialisation, because objects do not store
/// them.
@usableFromInline
enum PropertyRecorder {
  /// A Boolean value that indicates whether recording is active.
  ///
  /// The flag is atomic rather than protected by the mutex, because every wrapper of every new
  /// object reads it.
  @usableFromInline static var isRecording: Bool { isOn.load(ordering: .relaxed) }

  private static let isOn = Atomic<Bool>(false)

  struct Entry {
    let storage: any PropertyStorage.Type
    let options: PropertyOptions
  }

  private struct Recording {
    let thread: ObjectIdentifier
    var entries: [Entry] = []
  }

  private static let recording = Mutex<Recording?>(nil)
  private static let turn = Mutex(())

  /// Runs `body` and records the wrappers that are initialised on this thread.
  ///
  /// - Returns: The result of `body`, and the recorded wrappers.
  static func record<Result>(_ body: () -> Result) -> (Result, [Entry]) {
    turn.withLock { _ in
      recording.withLock { $0 = Recording(thread: ObjectIdentifier(Thread.current)) }
      isOn.store(true, ordering: .relaxed)
      let result = body()
      isOn.store(false, ordering: .relaxed)
      let entries = recording.withLock { current in
        defer { current = nil }
        return current?.entries ?? []
      }
      return (result, entries)
    }
  }

  /// Records a wrapper if this thread is recording.
  static func recordWrapper(_ storage: any PropertyStorage.Type, _ options: PropertyOptions) {
    recording.withLock { current in
      guard current?.thread == ObjectIdentifier(Thread.current) else { return }
      current?.entries.append(Entry(storage: storage, options: options))
    }
  }
}
