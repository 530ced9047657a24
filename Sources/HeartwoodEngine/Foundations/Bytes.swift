/// A borrowed, read-only run of bytes with bounds-checked access.
///
/// The code that creates a run guarantees that the bytes stay valid while the run is used. Release
/// builds also check bounds, so that a wrong offset stops the program instead of reading arbitrary
/// memory. Bytes from a file are verified before any offsets in them are used.
///
/// The functions are `@_transparent`, because a debug build inlines only such functions, and only
/// within the same file.
package struct Bytes {
  package let base: UnsafeRawPointer
  package let count: Int

  @_transparent
  package init(_ base: UnsafeRawPointer, count: Int) {
    self.base = base
    self.count = count
  }

  @_transparent
  package init(_ buffer: UnsafeRawBufferPointer) {
    // An empty buffer may have no address. Any address will do, because nothing is read from it.
    base = buffer.baseAddress ?? UnsafeRawPointer(bitPattern: 8).unsafelyUnwrapped
    count = buffer.count
  }

  @_transparent
  private func check(_ offset: Int, _ byteCount: Int) {
    precondition(
      offset >= 0 && byteCount >= 0 && offset &+ byteCount <= count,
      "The byte range is out of bounds.")
  }

  @_transparent
  package func load8(_ offset: Int) -> UInt8 {
    check(offset, 1)
    return base.load(fromByteOffset: offset, as: UInt8.self)
  }

  @_transparent
  package func load16(_ offset: Int) -> UInt16 {
    check(offset, 2)
    return base.loadUnaligned(fromByteOffset: offset, as: UInt16.self).inLittleEndian
  }

  @_transparent
  package func load32(_ offset: Int) -> UInt32 {
    check(offset, 4)
    return base.loadUnaligned(fromByteOffset: offset, as: UInt32.self).inLittleEndian
  }

  @_transparent
  package func load64(_ offset: Int) -> UInt64 {
    check(offset, 8)
    return base.loadUnaligned(fromByteOffset: offset, as: UInt64.self).inLittleEndian
  }

  /// Returns the eight bytes at `offset` as a number that sorts like the bytes.
  @_transparent
  package func loadBigEndian64(_ offset: Int) -> UInt64 {
    check(offset, 8)
    return base.loadUnaligned(fromByteOffset: offset, as: UInt64.self).inBigEndian
  }

  @_transparent
  package func slice(_ offset: Int, _ byteCount: Int) -> Bytes {
    check(offset, byteCount)
    return Bytes(base + offset, count: byteCount)
  }

  package func copied() -> [UInt8] {
    [UInt8](UnsafeRawBufferPointer(start: base, count: count))
  }

  /// The bytes as an unsafe buffer, for file transfers and the public API.
  @_transparent
  package var buffer: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: base, count: count) }

  /// Returns the number of leading bytes that are equal in this run and `other`.
  package func commonPrefix(with other: Bytes) -> Int {
    let limit = min(count, other.count)
    var index = 0
    while index &+ 8 <= limit {
      let difference =
        base.loadUnaligned(fromByteOffset: index, as: UInt64.self).inLittleEndian
        ^ other.base.loadUnaligned(fromByteOffset: index, as: UInt64.self).inLittleEndian
      if difference != 0 { return index &+ difference.trailingZeroBitCount / 8 }
      index &+= 8
    }
    while index < limit, load8(index) == other.load8(index) { index &+= 1 }
    return index
  }

  /// Compares this run with `other`.
  ///
  /// The result is negative if this run sorts before `other`, positive if it sorts after `other`,
  /// and 0 if the runs are equal.
  package func compare(_ other: Bytes) -> Int {
    let common = commonPrefix(with: other)
    if common < count, common < other.count {
      return Int(load8(common)) - Int(other.load8(common))
    }
    return count - other.count
  }

  /// Returns whether this run starts within the memory of `other`.
  @_transparent
  package func liesIn(_ other: Bytes) -> Bool {
    base >= other.base && base < other.base + other.count
  }

  @_transparent
  package func equals(_ other: Bytes) -> Bool {
    count == other.count && commonPrefix(with: other) == count
  }
}

/// A borrowed, mutable run of bytes with bounds-checked access.
///
/// The code that uses a run must ensure exclusive access to its bytes.
package struct MutableBytes {
  package let base: UnsafeMutableRawPointer
  package let count: Int

  @_transparent
  package init(_ base: UnsafeMutableRawPointer, count: Int) {
    self.base = base
    self.count = count
  }

  @_transparent
  package var bytes: Bytes { Bytes(UnsafeRawPointer(base), count: count) }

  @_transparent
  private func check(_ offset: Int, _ byteCount: Int) {
    precondition(
      offset >= 0 && byteCount >= 0 && offset &+ byteCount <= count,
      "The byte range is out of bounds.")
  }

  @_transparent
  package func store8(_ value: UInt8, _ offset: Int) {
    check(offset, 1)
    base.storeBytes(of: value, toByteOffset: offset, as: UInt8.self)
  }

  @_transparent
  package func store16(_ value: UInt16, _ offset: Int) {
    check(offset, 2)
    base.storeBytes(of: value.inLittleEndian, toByteOffset: offset, as: UInt16.self)
  }

  @_transparent
  package func store32(_ value: UInt32, _ offset: Int) {
    check(offset, 4)
    base.storeBytes(of: value.inLittleEndian, toByteOffset: offset, as: UInt32.self)
  }

  @_transparent
  package func store64(_ value: UInt64, _ offset: Int) {
    check(offset, 8)
    base.storeBytes(of: value.inLittleEndian, toByteOffset: offset, as: UInt64.self)
  }

  /// Copies `source` to `offset`.
  ///
  /// The source and the target must not overlap.
  @_transparent
  package func copy(_ source: Bytes, to offset: Int) {
    check(offset, source.count)
    (base + offset).copyMemory(from: source.base, byteCount: source.count)
  }

  /// Moves bytes within this run.
  @_transparent
  package func move(from source: Int, to target: Int, byteCount: Int) {
    check(source, byteCount)
    check(target, byteCount)
    (base + target).copyMemory(from: base + source, byteCount: byteCount)
  }

  /// Stores zeros, 64 bytes at a time.
  ///
  /// The method does not use `initializeMemory`, which makes a call for each byte in a debug build.
  package func clear(_ offset: Int, _ byteCount: Int) {
    check(offset, byteCount)
    let target = base + offset
    let zeros = SIMD8<UInt64>()
    var index = 0
    while index &+ 64 <= byteCount {
      target.storeBytes(of: zeros, toByteOffset: index, as: SIMD8<UInt64>.self)
      index &+= 64
    }
    while index < byteCount {
      target.storeBytes(of: 0, toByteOffset: index, as: UInt8.self)
      index &+= 1
    }
  }

  @_transparent
  package func slice(_ offset: Int, _ byteCount: Int) -> MutableBytes {
    check(offset, byteCount)
    return MutableBytes(base + offset, count: byteCount)
  }
}

/// A block of aligned memory that is initially zero and is freed when its last reference is
/// released.
///
/// - Note: `@unchecked` is needed because the memory is raw. Each use documents its
///   synchronisation.
package final class ByteBlock: @unchecked Sendable {
  package let bytes: MutableBytes

  /// The alignment of blocks, which equals the size of a cache line.
  ///
  /// With page alignment, the C library's allocator would use 8 KiB for a 4 KiB block.
  package static let cacheLineByteCount = 64

  package init(count: Int, alignment: Int = ByteBlock.cacheLineByteCount) {
    let memory = UnsafeMutableRawPointer.allocate(byteCount: max(count, 1), alignment: alignment)
    bytes = MutableBytes(memory, count: count)
    bytes.clear(0, count)
  }

  deinit { bytes.base.deallocate() }

  /// Ensures that the block is not freed before this call.
  ///
  /// The compiler does not know that pointers into the memory depend on the block. Without this
  /// call, the compiler could release the block while its memory is in use.
  @inline(__always)
  package func keep() { withExtendedLifetime(self) {} }
}

extension Array where Element == UInt8 {
  @inline(__always)
  package func withBytes<R, E: Error>(_ body: (Bytes) throws(E) -> R) throws(E) -> R {
    let result: Result<R, E> = withUnsafeBytes { buffer in
      do throws(E) { return .success(try body(Bytes(buffer))) } catch { return .failure(error) }
    }
    return try result.get()
  }
}

extension RawSpan {
  @inline(__always)
  package func withBytes<R, E: Error>(_ body: (Bytes) throws(E) -> R) throws(E) -> R {
    try withUnsafeBytes { buffer throws(E) in try body(Bytes(buffer)) }
  }
}
