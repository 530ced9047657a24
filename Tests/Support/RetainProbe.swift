#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// Counts the retains and the object allocations that a closure performs.
///
/// The Swift runtime calls its retain and allocation functions through variables that it exports
/// for profiling tools. The runtime checks these variables only while a flag is set. The probe sets
/// the variables and the flag during a measurement.
///
/// Run each measurement in its own process (an exit test).
package enum RetainProbe {
  /// The counts for one closure.
  package struct Counts: Equatable, Sendable {
    package var retains = 0
    package var allocations = 0

    package init() {}
  }

  private typealias Retain = @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer?
  private typealias Allocate =
    @convention(c) (UnsafeRawPointer?, Int, Int) ->
    UnsafeMutableRawPointer?

  private nonisolated(unsafe) static var counts = Counts()
  private nonisolated(unsafe) static var retain: Retain?
  private nonisolated(unsafe) static var allocate: Allocate?

  /// Returns whether a pointer refers to mapped memory.
  ///
  /// While the flag is set, some runtimes pass the bytes of a small string to the retain function
  /// when the string is copied. These bytes are not the address of an object.
  private static func isMapped(_ pointer: UnsafeMutableRawPointer?) -> Bool {
    let pageByteCount = Int(getpagesize())
    let page = UnsafeMutableRawPointer(
      bitPattern: Int(bitPattern: pointer) / pageByteCount * pageByteCount)
    var residence: UInt8 = 0
    guard let page else { return false }
    return withUnsafeMutableBytes(of: &residence) { bytes in
      mincore(page, 1, bytes.assumingMemoryBound(to: UInt8.self).baseAddress) == 0
    }
  }

  /// Runs `body` and returns its counts, or `nil` if this version of the runtime cannot be
  /// observed.
  package static func measure(_ body: () throws -> Void) rethrows -> Counts? {
    let program = dlopen(nil, RTLD_NOW)
    guard let retainSlot = dlsym(program, "_swift_retain"),
      let allocateSlot = dlsym(program, "_swift_allocObject"),
      let flag = dlsym(
        program, "_swift_enableSwizzlingOfAllocationAndRefCountingFunctions_forInstrumentsOnly")
    else { return nil }
    let retains = retainSlot.assumingMemoryBound(to: Retain.self)
    let allocations = allocateSlot.assumingMemoryBound(to: Allocate.self)
    retain = retains.pointee
    allocate = allocations.pointee
    counts = Counts()
    retains.pointee = { object in
      guard RetainProbe.isMapped(object) else { return object }
      RetainProbe.counts.retains += 1
      return RetainProbe.retain?(object)
    }
    allocations.pointee = { metadata, size, mask in
      RetainProbe.counts.allocations += 1
      return RetainProbe.allocate?(metadata, size, mask)
    }
    flag.storeBytes(of: 1, as: UInt8.self)
    defer {
      flag.storeBytes(of: 0, as: UInt8.self)
      if let retain { retains.pointee = retain }
      if let allocate { allocations.pointee = allocate }
    }
    try body()
    return counts
  }
}
