/// The reason why a maintenance run failed, encoded in one shared counter.
///
///     bits 0–7   the kind, as a number above 0
///     bits 8–39  the system's error number, or 0
package struct MaintenanceFailure: Hashable, Sendable {
  package let kind: StorageError.Kind
  package let errno: Int32?

  /// The kinds of failure, sorted by number.
  ///
  /// Any other kind is encoded as the first kind.
  private static let kinds: [StorageError.Kind] = [
    .io, .diskFull, .corrupt, .writesDisabled, .busy,
  ]

  package init(_ error: StorageError) {
    kind = Self.kinds.contains(error.kind) ? error.kind : Self.kinds[0]
    errno = error.errno
  }

  /// Decodes a counter value, or returns `nil` if the value is 0 or contains no valid kind.
  package init?(word: UInt64) {
    let number = Int(word & 0xFF)
    guard number > 0, number <= Self.kinds.count else { return nil }
    kind = Self.kinds[number - 1]
    let code = Int32(truncatingIfNeeded: word >> 8)
    errno = code == 0 ? nil : code
  }

  package var word: UInt64 {
    let number = UInt64(Self.kinds.firstIndex(of: kind) ?? 0) + 1
    return UInt64(UInt32(bitPattern: errno ?? 0)) << 8 | number
  }

  /// The error to report in all processes except the one whose run failed.
  package var error: StorageError {
    StorageError(
      kind,
      "The last checkpoint failed in this process or another one. The log keeps growing until a "
        + "checkpoint succeeds. To see the error, call `checkpoint()`.",
      errno: errno)
  }
}
