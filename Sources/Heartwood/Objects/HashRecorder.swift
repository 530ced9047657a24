import Synchronization

/// Records which objects are hashed during an in-place mutation of a member set.
///
/// A set cannot gain a member without hashing it, unless another set replaces it. So only hashed
/// objects can be new, and together with the member count they show whether any other object was
/// removed. Objects hashed on all threads are recorded: extra ones do no harm.
enum HashRecorder {
  /// The maximum number of recorded objects; for more, comparing the sets is faster.
  private static let limit = 64

  private struct Recording {
    let id: UInt64
    var objects: [ObjectIdentifier] = []
    var isOverfull = false
  }

  /// The number of active recordings.
  ///
  /// Every hash of an object reads it, so it is a plain counter.
  private static let count = Atomic<Int>(0)
  private static let recordings = Mutex<(last: UInt64, all: [Recording])>((0, []))

  static var isRecording: Bool { count.load(ordering: .relaxed) != 0 }

  /// Starts a recording and returns its ID.
  static func begin() -> UInt64 {
    count.add(1, ordering: .relaxed)
    return recordings.withLock { recordings in
      recordings.last += 1
      recordings.all.append(Recording(id: recordings.last))
      return recordings.last
    }
  }

  /// Ends a recording and returns the hashed objects; `nil` if there were too many.
  static func end(_ id: UInt64) -> [ObjectIdentifier]? {
    count.subtract(1, ordering: .relaxed)
    return recordings.withLock { recordings in
      guard let position = recordings.all.firstIndex(where: { $0.id == id }) else { return nil }
      let recording = recordings.all.remove(at: position)
      return recording.isOverfull ? nil : recording.objects
    }
  }

  /// Records an object.
  static func record(_ object: ObjectIdentifier) {
    recordings.withLock { recordings in
      for position in recordings.all.indices where !recordings.all[position].isOverfull {
        guard !recordings.all[position].objects.contains(object) else { continue }
        if recordings.all[position].objects.count < limit {
          recordings.all[position].objects.append(object)
        } else {
          recordings.all[position].isOverfull = true
        }
      }
    }
  }
}

/// A set of objects, seen as a set of their addresses.
///
/// A hashed object may have been deallocated since: looking up its address is safe, looking up the
/// object is not.
struct ObjectAddresses {
  private struct Address: Hashable {
    let object: ObjectIdentifier

    // Must hash exactly as `ManagedObject` does.
    func hash(into hasher: inout Hasher) { hasher.combine(object) }
  }

  private let addresses: Set<Address>

  init(_ objects: Set<ManagedObject>) {
    // An element is the same word with the same hash in both types.
    addresses = unsafeBitCast(objects, to: Set<Address>.self)
  }

  func contains(_ object: ObjectIdentifier) -> Bool { addresses.contains(Address(object: object)) }
}
