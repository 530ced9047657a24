import Synchronization

/// A recorder of the objects that are hashed during an in-place mutation of a member set.
///
/// The recorded objects make it possible to find the added and removed members without comparing
/// the entire sets.
///
/// Inserting an object into a set hashes the object. Therefore, unless the set was replaced with
/// another one, only hashed objects can be new members. A member can be removed without being
/// hashed. However, if the hashed objects account for the entire change in the number of members,
/// no other member was removed. Objects hashed by other threads are recorded too, which is
/// harmless.
enum HashRecorder {
  /// The maximum number of objects in a recording.
  ///
  /// If more objects are hashed, comparing the old set with the new one is faster.
  private static let limit = 64

  private struct Recording {
    let id: UInt64
    var objects: [ObjectIdentifier] = []
    var isOverfull = false
  }

  /// The number of active recordings.
  ///
  /// The counter is atomic rather than protected by the mutex, because it is read whenever an
  /// object is hashed.
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

  /// Ends a recording and returns the hashed objects, or `nil` if there were too many to record.
  static func end(_ id: UInt64) -> [ObjectIdentifier]? {
    count.subtract(1, ordering: .relaxed)
    return recordings.withLock { recordings in
      guard let position = recordings.all.firstIndex(where: { $0.id == id }) else { return nil }
      let recording = recordings.all.remove(at: position)
      return recording.isOverfull ? nil : recording.objects
    }
  }

  /// Adds a hashed object to all active recordings.
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

/// A set of objects in which objects can be looked up by address.
///
/// An object that ``HashRecorder`` has recorded may already have been deallocated, so the object
/// itself must not be used. Looking up its address is safe.
struct ObjectAddresses {
  private struct Address: Hashable {
    let object: ObjectIdentifier

    // Hash exactly as `ManagedObject` does, because the addresses are looked up in a set that was
    // built with the hashes of managed objects.
    func hash(into hasher: inout Hasher) { hasher.combine(object) }
  }

  private let addresses: Set<Address>

  init(_ objects: Set<ManagedObject>) {
    // The cast is safe, because a `ManagedObject` reference and an `Address` have the same memory
    // representation and hash, and compare equal in the same cases.
    addresses = unsafeBitCast(objects, to: Set<Address>.self)
  }

  func contains(_ object: ObjectIdentifier) -> Bool { addresses.contains(Address(object: object)) }
}
