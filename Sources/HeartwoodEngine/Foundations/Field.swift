/// A field in the fixed byte layout of a page, a frame or a file.
///
/// The format tests compare the fields with the tables in `Docs/Reference/FileFormat.md`.
package struct Field: Sendable, Hashable {
  package let name: String
  package let offset: Int
  package let byteCount: Int

  package init(_ name: String, at offset: Int, _ byteCount: Int) {
    self.name = name
    self.offset = offset
    self.byteCount = byteCount
  }

  /// The offset of the byte after this field.
  package var end: Int { offset + byteCount }
}
