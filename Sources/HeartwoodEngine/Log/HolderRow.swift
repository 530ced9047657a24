/// The layout of a row in the `holders` file.
package enum HolderLayout {
  package static let magic = Field("magic", at: 0, 8)
  package static let version = Field("version", at: 8, 4)
  package static let process = Field("process", at: 12, 4)
  package static let opened = Field("opened", at: 16, 8)
  package static let nameByteCount = Field("nameByteCount", at: 24, 4)
  package static let reserved = Field("reserved", at: 28, 4)
  package static let name = Field("name", at: 32, 216)
  package static let hash = Field("hash", at: 248, 8)
  package static let fields = [
    magic, version, process, opened, nameByteCount, reserved, name, hash,
  ]
  /// The length of a row in bytes.
  ///
  /// No row crosses a sector boundary, so concurrent writes cannot damage other rows.
  package static let rowByteCount = 256
  /// "HEARTHLD" as a little-endian number.
  package static let magicNumber: UInt64 = 0x444C_4854_5241_4548
}

/// The identity of a process that has the store open, for display to users.
package struct HolderRow: Hashable, Sendable {
  package let process: Int32
  /// The time at which the process opened the store, in milliseconds since 1970.
  package let opened: UInt64
  package let name: String

  /// Creates a row that describes a process.
  ///
  /// A name that is too long is truncated at a character boundary.
  package init(process: Int32, opened: UInt64, name: String) {
    self.process = process
    self.opened = opened
    var room = HolderLayout.name.byteCount
    let fitting = name.prefix { character in
      room -= character.utf8.count
      return room >= 0
    }
    self.name = String(fitting)
  }

  package func encoded(seed: UInt64) -> ByteBlock {
    typealias Layout = HolderLayout
    let block = ByteBlock(count: Layout.rowByteCount)
    let target = block.bytes
    let text = Array(name.utf8)
    target.store64(Layout.magicNumber, Layout.magic.offset)
    target.store32(1, Layout.version.offset)
    target.store32(UInt32(bitPattern: process), Layout.process.offset)
    target.store64(opened, Layout.opened.offset)
    target.store32(UInt32(text.count), Layout.nameByteCount.offset)
    text.withBytes { target.copy($0, to: Layout.name.offset) }
    target.store64(
      XXH64.hash(target.bytes.slice(0, Layout.hash.offset), seed: seed), Layout.hash.offset)
    return block
  }

  /// Decodes a row, or returns `nil` if the bytes are not a complete row of this store.
  ///
  /// The method replaces characters in the name that are not safe to print on a terminal.
  package static func decode(_ bytes: Bytes, seed: UInt64) -> HolderRow? {
    typealias Layout = HolderLayout
    guard bytes.count == Layout.rowByteCount,
      bytes.load64(Layout.magic.offset) == Layout.magicNumber,
      bytes.load64(Layout.hash.offset)
        == XXH64.hash(bytes.slice(0, Layout.hash.offset), seed: seed),
      bytes.load32(Layout.version.offset) == 1
    else { return nil }
    let count = Int(bytes.load32(Layout.nameByteCount.offset))
    guard count <= Layout.name.byteCount,
      let name = String(validating: bytes.slice(Layout.name.offset, count).copied(), as: UTF8.self)
    else { return nil }
    return HolderRow(
      visibleName: VisibleText.of(name),
      process: Int32(bitPattern: bytes.load32(Layout.process.offset)),
      opened: bytes.load64(Layout.opened.offset))
  }

  private init(visibleName: String, process: Int32, opened: UInt64) {
    self.process = process
    self.opened = opened
    name = visibleName
  }
}
