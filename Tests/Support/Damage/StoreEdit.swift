package import HeartwoodEngine

/// One change to one file of a store, as a fault or an attacker makes it.
///
/// Every sixteen bytes are an edit. Every number in it is reduced to the range of the given store,
/// so that arbitrary bytes lead to effective edits.
package struct StoreEdit: Hashable, Sendable {
  package enum Kind: UInt8, CaseIterable, Sendable {
    /// Overwrites bytes with the first `count` bytes of `value`, 1 to 8.
    case write
    /// Adds `value` to the number of 1, 2, 4 or 8 bytes at the position.
    case add
    /// Flips the bits of `value` in up to 8 bytes.
    case flip
    /// Fills `count` bytes with the lowest byte of `value`.
    case fill
    /// Overwrites another page of the file with its page `count`.
    case copyPage
    /// Truncates the file.
    case cut
    /// Appends `count` bytes, each the lowest byte of `value`.
    case extend
    /// Removes the file.
    case remove
    /// Replaces this file by file `count`.
    case copyFile
  }

  package var kind: Kind
  /// The index of the file in the order of the names.
  package var file: UInt8
  /// The index of a page-sized run of bytes, from the start of the file.
  package var page: UInt16
  /// The offset in the page.
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

// MARK: - As bytes

extension StoreEdit {
  package static let byteCount = 16

  /// Decodes the edit from arbitrary sixteen bytes.
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
