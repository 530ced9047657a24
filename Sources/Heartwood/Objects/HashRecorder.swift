import Synchronization

/// Records which objects are hashed while a set of members is changed in place.
///
/// A set cannot get a member that was not hashed, unless it is replaced by another set. So the
/// objects that were hashed meanwhile are the only ones that can have joined, and with the number
/// of members they tell whether any other has left. Objects of all threads are recorded: one too
/// many is no error.
enum HashRecorder {
  /// The most objects of which it is quicker to look at each than to compare the sets.
  private static let limit = 64

  private struct Recording {
    let id: UInt64
    var objects: [ObjectIdentifier] = []
    var isOverfull = false
  }

  /// The number of recordings; asked whenever an object is hashed, so it is only this.
  private static let count = Atomic<Int>(0)
  private static let recordings = Mutex<(last: UInt64, all: [Recording])>((0, []))

  static var isRecording: Bool { count.load(ordering: .relaxed) != 0 }

  /// Begins a recording, and returns its ID.
  static func begin() -> UInt64 {
    count.add(1, ordering: .relaxed)
    return recordings.withLock { recordings in
      recordings.last += 1
      recordings.all.append(Recording(id: recordings.last))
      return recordings.last
    }
  }

  /// Ends a recording, and returns the objects that were hashed; `nil` if they were too many.
  static func end(_ id: UInt64) -> [ObjectIdentifier]? {
    count.subtract(1, ordering: .relaxed)
    return recordings.withLock { recordings in
      guard let position = recordings.all.firstIndex(where: { $0.id == id }) else { return nil }
      let recording = recordings.all.remove(at: position)
      return recording.isOverfull ? nil : recording.objects
    }
  }

  /// Records an object.
  static func note(_ object: ObjectIdentifier) {
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

/// A set of objects as a set of their addresses.
///
/// An object that was hashed may be gone: an address can be looked up, an object could not.
struct ObjectAddresses {
  private struct Address: Hashable {
    let object: ObjectIdentifier

    // As an object is hashed.
    func hash(into hasher: inout Hasher) { hasher.combine(object) }
  }

  private let addresses: Set<Address>

  init(_ objects: Set<ManagedObject>) {
    // The elements are the same word, with the same hash.
    addresses = unsafeBitCast(objects, to: Set<Address>.self)
  }

  func contains(_ object: ObjectIdentifier) -> Bool { addresses.contains(Address(object: object)) }
}
