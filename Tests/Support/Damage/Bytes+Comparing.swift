import HeartwoodEngine

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

extension Bytes {
  /// Returns whether both ranges contain the same bytes.
  ///
  /// The C library compares them: in the fuzzer, all other code also counts its comparisons, which
  /// would take a third of the time.
  func isSame(as other: Bytes) -> Bool {
    count == other.count && memcmp(base, other.base, count) == 0
  }
}
