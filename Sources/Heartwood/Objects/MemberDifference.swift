#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The members added to and removed from a to-many relationship when a new list or set replaces the
/// old one.
struct MemberDifference {
  private(set) var removed: [ManagedObject] = []
  private(set) var added: [ManagedObject] = []
  /// The position at which to insert the added members, in order, after all removals have been
  /// applied.
  ///
  /// The position is `nil` if the list must also be reordered, or if sets were compared.
  private(set) var position: Int?

  /// Compares two lists.
  ///
  /// - Complexity: O(members) address comparisons, which take a few microseconds for ten thousand
  ///   members. The rest of the work is linear in the number of members between the first and the
  ///   last difference.
  init(from old: UnsafeBufferPointer<ManagedObject>, to new: UnsafeBufferPointer<ManagedObject>) {
    let start = Self.commonPrefix(old, new)
    let end = Self.commonSuffix(old, new, max: min(old.count, new.count) - start)
    let (before, after) = (old[start..<(old.count - end)], new[start..<(new.count - end)])
    if before.isEmpty, after.isEmpty {
      position = start
      return
    }
    if !before.isEmpty {
      let kept = after.count > Self.searchedCount ? Set(after) : nil
      removed = before.filter { member in
        !(kept?.contains(member) ?? after.contains { $0 === member })
      }
    }
    if !after.isEmpty {
      let known = after.count > Self.searchedCount ? Set(old) : nil
      var seen = MemberSet()
      added = after.filter { member in
        !(known?.contains(member) ?? Self.contains(old, member)) && seen.insert(member)
      }
    }
    if removed.count == before.count, added.count == after.count { position = start }
  }

  /// Compares two sets.
  ///
  /// - Parameter hashed: The objects that were hashed while the set was being changed, or `nil` if
  ///   they are unknown. Only these objects can have been added, because a set hashes every object
  ///   that it inserts.
  /// - Complexity: O(hashed) if all added and removed objects were hashed; otherwise O(members).
  init(
    from old: Set<ManagedObject>, to new: Set<ManagedObject>, hashed: [ObjectIdentifier]?
  ) {
    if let hashed {
      let (before, after) = (ObjectAddresses(old), ObjectAddresses(new))
      for object in hashed {
        switch (before.contains(object), after.contains(object)) {
        case (true, false): removed.append(Self.object(object))
        case (false, true): added.append(Self.object(object))
        case (true, true), (false, false): continue
        }
      }
      // `added` is complete, because a set hashes every object that it inserts. If `added` and
      // `removed` together account for the change in the number of members, `removed` is complete
      // too.
      if new.count - old.count == added.count - removed.count { return }
    }
    added = new.filter { !old.contains($0) }
    removed = new.count == old.count + added.count ? [] : old.filter { !new.contains($0) }
  }

  /// Returns the object at the given address.
  ///
  /// The object must be in one of the compared sets, which keep their objects alive.
  private static func object(_ address: ObjectIdentifier) -> ManagedObject {
    unsafeBitCast(address, to: ManagedObject.self)
  }

  /// The maximum number of changed members for which lists are searched linearly instead of being
  /// converted to sets.
  private static let searchedCount = 8

  // MARK: Addresses

  private static func contains(
    _ objects: UnsafeBufferPointer<ManagedObject>, _ object: ManagedObject
  ) -> Bool {
    ObjectSearch.position(of: object, in: objects) != nil
  }

  /// The number of words that one `memcmp` call compares.
  private static let blockCount = 512

  /// Returns whether two lists contain the same objects in the same order.
  static func areEqual(
    _ first: UnsafeBufferPointer<ManagedObject>, _ second: UnsafeBufferPointer<ManagedObject>
  ) -> Bool {
    first.count == second.count && commonPrefix(first, second) == first.count
  }

  private static func commonPrefix(
    _ first: UnsafeBufferPointer<ManagedObject>, _ second: UnsafeBufferPointer<ManagedObject>
  ) -> Int {
    let count = min(first.count, second.count)
    guard let one = first.addresses, let other = second.addresses else { return 0 }
    if one == other { return count }
    var position = 0
    while position + blockCount <= count,
      memcmp(one + position, other + position, blockCount * MemoryLayout<UInt>.size) == 0
    {
      position += blockCount
    }
    while position < count, one[position] == other[position] { position += 1 }
    return position
  }

  private static func commonSuffix(
    _ first: UnsafeBufferPointer<ManagedObject>, _ second: UnsafeBufferPointer<ManagedObject>,
    max: Int
  ) -> Int {
    guard let one = first.addresses, let other = second.addresses else { return 0 }
    let ends = (one + first.count, other + second.count)
    var count = 0
    while count + blockCount <= max,
      memcmp(
        ends.0 - count - blockCount, ends.1 - count - blockCount,
        blockCount * MemoryLayout<UInt>.size) == 0
    {
      count += blockCount
    }
    while count < max, ends.0[-count - 1] == ends.1[-count - 1] { count += 1 }
    return count
  }
}

/// A search for objects in arrays by address, without retaining any elements.
enum ObjectSearch {
  /// Returns the position of an object, or `nil` if the object is not in the array.
  ///
  /// The array is searched from both ends.
  static func position(
    of object: ManagedObject, in objects: UnsafeBufferPointer<ManagedObject>
  ) -> Int? {
    guard let addresses = objects.addresses else { return nil }
    let wanted = UInt(bitPattern: ObjectIdentifier(object))
    var (low, high) = (0, objects.count - 1)
    while low <= high {
      if addresses[high] == wanted { return high }
      if addresses[low] == wanted { return low }
      low += 1
      high -= 1
    }
    return nil
  }
}

extension UnsafeBufferPointer where Element == ManagedObject {
  /// A pointer to the addresses of the objects, each of which is one machine word.
  fileprivate var addresses: UnsafePointer<UInt>? {
    baseAddress.map { UnsafeRawPointer($0).assumingMemoryBound(to: UInt.self) }
  }
}
