/// A field of a fixed byte layout: what the layouts of pages, frames and files are made of.
///
/// Code reads and writes through the offsets, and the format tests compare the same fields with the
/// tables of `Docs/FileFormat.md`, so that the document cannot drift from the bytes.
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
