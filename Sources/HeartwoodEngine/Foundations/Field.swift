/// A field of a fixed byte layout, of which the layouts of pages, frames and files consist.
///
/// The code reads and writes through these offsets. The format tests compare the same fields with
/// the tables of `Docs/Reference/FileFormat.md`, so that the document and the bytes cannot diverge.
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
