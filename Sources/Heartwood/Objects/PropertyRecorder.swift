import Foundation
import Synchronization

/// Writes down which wrappers an object is made of while the schema makes one to look at.
///
/// Wrappers tell it of themselves as they are initialised, in the order of their declaration, a
/// subclass before its superclass; that is the only moment at which what a declaration says besides
/// the type can be had without keeping it in every object.
@usableFromInline
enum PropertyRecorder {
  /// Whether somebody is recording; asked by each wrapper of each new object, so it is only this.
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

  /// What `body` initialises on this thread.
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

  /// Takes down a wrapper, if this thread records.
  static func note(_ storage: any PropertyStorage.Type, _ options: PropertyOptions) {
    recording.withLock { current in
      guard current?.thread == ObjectIdentifier(Thread.current) else { return }
      current?.entries.append(Entry(storage: storage, options: options))
    }
  }
}
