package import HeartwoodEngine

/// A change to one file of a store, as a fault or an attacker might make it.
///
/// An edit is encoded in sixteen bytes. Each of its numbers is reduced to the range that is valid
/// for the store, so almost any sixteen bytes decode to an edit that has an effect.
package struct StoreEdit: Hashable, Sendable {
  package enum Kind: UInt8, CaseIterable, Sendable {
    /// Overwrites 1 to 8 bytes with the first bytes of `value`.
    case write
    /// Adds `value` to the number of 1, 2, 4 or 8 bytes at `offset`.
    case add
    /// Combines the next 8 bytes with `value` by exclusive OR.
    case flip
    /// Overwrites `count` bytes with the lowest byte of `value`.
    case fill
    /// Overwrites the page with the page at index `count` of the same file.
    case copyPage
    /// Truncates the file at `offset`.
    case cut
    /// Appends `count` bytes, each equal to the lowest byte of `value`.
    case extend
    /// Removes the file.
    case remove
    /// Replaces the contents of the file with those of the file at index `count`.
    case copyFile
  }

  package var kind: Kind
  /// The index of the file in the sorted list of file names.
  package var file: UInt8
  /// The index of a page-sized range of bytes, counted from the start of the file.
  package var page: UInt16
  /// The byte offset within that range.
  package var offset: UInt16
  package var count: UInt16
  package var value: UInt64

  package init(
    _ kind: Kind, file: Int, page: Int = 0, offset: Int = 0, count: Int = 0, value: UInt64 = 0
  ) {
    self.kind = kind
    self.file = UInt8(truncatingIfNeeded: file)
    self.page = UInt16(truncatingIfNeeded: page)
    self.offset = UInt16(truncatingIfNeeded: offset)
    self.count = UInt16(truncatingIfNeeded: count)
    self.value = value
  }
}

// MARK: - Encoding

extension StoreEdit {
  package static let byteCount = 16

  /// Decodes an edit from any sixteen bytes.
  package init(_ bytes: Bytes) {
    kind = Kind.allCases[Int(bytes.load8(0)) % Kind.allCases.count]
    file = bytes.load8(1)
    page = bytes.load16(2)
    offset = bytes.load16(4)
    count = bytes.load16(6)
    value = bytes.load64(8)
  }

  package func encode(to target: MutableBytes) {
    target.store8(kind.rawValue, 0)
    target.store8(file, 1)
    target.store16(page, 2)
    target.store16(offset, 4)
    target.store16(count, 6)
    target.store64(value, 8)
  }
}

extension StoreEdit: CustomStringConvertible {
  package var description: String {
    let number = String(value, radix: 16)
    return "\(kind) file \(file) page \(page) offset \(offset) count \(count) value \(number)"
  }
}
