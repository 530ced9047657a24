import Foundation
import HeartwoodEngine
import Testing

/// Compares `Docs/Reference/FileFormat.md` with the layouts that the code uses for reading and
/// writing.
///
/// Each captioned table must correspond to a layout, and each layout to a table, field by field.
/// The specification and the code therefore cannot diverge.
@Suite("The file format document")
struct FormatDocumentTests {
  /// A layout, and the range of bytes that its table must describe.
  struct Layout {
    let name: String
    let fields: [Field]
    let start: Int
    let end: Int

    init(_ name: String, _ fields: [Field], _ start: Int, _ end: Int) {
      self.name = name
      self.fields = fields
      self.start = start
      self.end = end
    }
  }

  /// All layouts of the format.
  static let layouts = [
    Layout("PageLayout", PageLayout.fields, 0, 26),
    Layout("NodeLayout", NodeLayout.fields, 26, NodeLayout.prefixOffset),
    Layout(
      "OverflowLayout.referenceFields", OverflowLayout.referenceFields, 0,
      OverflowLayout.referenceByteCount),
    Layout(
      "OverflowLayout.pageFields", OverflowLayout.pageFields, 26, OverflowLayout.contentOffset),
    Layout(
      "OverflowLayout.indexFields", OverflowLayout.indexFields, 26, OverflowLayout.contentOffset),
    Layout("BitmapLayout", BitmapLayout.fields, 26, BitmapLayout.bits),
    Layout("CatalogLayout", CatalogLayout.fields, 0, CatalogLayout.byteCount),
    Layout("HeaderSlotLayout", HeaderSlotLayout.fields, 0, HeaderSlotLayout.byteCount),
    Layout("SegmentLayout", SegmentLayout.fields, 0, SegmentLayout.byteCount),
    Layout("GroupLayout", GroupLayout.fields, 0, GroupLayout.entries),
    Layout("AtomicFileLayout", AtomicFileLayout.fields, 0, AtomicFileLayout.byteCount),
    Layout(
      "ReplicaLayout", ReplicaLayout.fields, AtomicFileLayout.byteCount, ReplicaLayout.message),
    Layout("MapLayout", MapLayout.fields, AtomicFileLayout.byteCount, MapLayout.rows),
    Layout(
      "MapLayout.retainedGenerationFields", MapLayout.retainedGenerationFields, 0,
      MapLayout.retainedGenerationByteCount),
    Layout(
      "MapLayout.retainedFrameFields", MapLayout.retainedFrameFields, 0,
      MapLayout.retainedFrameByteCount),
    Layout("NamedGenerationLayout", NamedGenerationLayout.fields, 0, NamedGenerationLayout.rowName),
    Layout("HolderLayout", HolderLayout.fields, 0, HolderLayout.rowByteCount),
    Layout(
      "SegmentFooterLayout", SegmentFooterLayout.fields, 0, SegmentFooterLayout.rows),
    Layout("BackupLayout", BackupLayout.fields, 0, BackupLayout.byteCount),
    Layout("CountersLayout", CountersLayout.fields, 0, CountersLayout.byteCount),
    Layout("DecisionLayout", DecisionLayout.fields, 0, CountersLayout.firstDecision.byteCount),
  ]

  private static func tables(_ category: String) throws -> [DocumentTable] {
    DocumentTable.all(in: try Package.text(of: "Docs/Reference/FileFormat.md"))
      .filter { $0.category == category }
  }

  /// Returns the rows of a table as fields, including the rows for unused ranges.
  private static func fields(of table: DocumentTable) throws -> [Field] {
    #expect(table.columns == ["offset", "size", "field", "meaning"], "table \(table.name)")
    return try table.rows.map { row in
      let offset = try #require(Int(row[0]), "table \(table.name): \(row)")
      let byteCount = try #require(Int(row[1]), "table \(table.name): \(row)")
      return Field(row[2], at: offset, byteCount)
    }
  }

  @Test func `has one table for each layout`() throws {
    let documented = try Self.tables("layout").map(\.name)
    #expect(documented.sorted() == Self.layouts.map(\.name).sorted())
  }

  @Test func `gives every field its name, offset and size`() throws {
    for table in try Self.tables("layout") {
      let layout = try #require(Self.layouts.first { $0.name == table.name })
      let documented = try Self.fields(of: table).filter { $0.name != "(unused)" }
      #expect(documented == layout.fields, "table \(table.name)")
    }
  }

  @Test func `explains every byte of a layout once`() throws {
    for table in try Self.tables("layout") {
      let layout = try #require(Self.layouts.first { $0.name == table.name })
      var end = layout.start
      for field in try Self.fields(of: table) {
        #expect(field.offset == end, "table \(table.name): \(field.name)")
        end = field.end
      }
      #expect(end == layout.end, "table \(table.name)")
    }
  }

  @Test func `lists the page kinds`() throws {
    let table = try #require(try Self.tables("kinds").first)
    let kinds = (UInt8.min...UInt8.max).compactMap(PageKind.init(rawValue:))
    #expect(table.rows.map { Array($0[0...1]) } == kinds.map { ["\($0.rawValue)", "\($0)"] })
  }

  @Test func `lists the key tags`() throws {
    let table = try #require(try Self.tables("tags").first)
    let tags = KeyTag.allCases.map { tag in
      [(tag.rawValue < 16 ? "0" : "") + String(tag.rawValue, radix: 16), "\(tag)"]
    }
    #expect(table.rows.map { [$0[0], $0[2]] } == tags)
  }

  @Test func `lists the lock bytes`() throws {
    let table = try #require(try Self.tables("locks").first)
    let bytes: [(UInt64, String)] = [
      (LockByte.presenceReadWrite, "presenceReadWrite"),
      (LockByte.presenceReadOnly, "presenceReadOnly"), (LockByte.maintenance, "maintenance"),
      (LockByte.writer, "writer"), (LockByte.sync, "sync"), (LockByte.keep, "keep"),
      (LockByte.doorbell, "doorbell"), (LockByte.probe, "probe"),
      (LockByte.allocator, "allocator"), (LockByte.observing, "observing"),
      (LockByte.following, "following"), (LockByte.creation, "creation"),
      (LockByte.holderRow, "holderRow"), (LockByte.live, "live"),
      (LockByte.holderLock, "holderLock"),
    ]
    let numbers = bytes.map { byte, _ in
      byte < 1 << 16 ? "\(byte)" : "2^\(byte.trailingZeroBitCount)"
    }
    #expect(table.rows == zip(numbers, bytes).map { [$0, $1.1] })
  }

  @Test func `shows the magic numbers as bytes`() throws {
    let text = try Package.text(of: "Docs/Reference/FileFormat.md")
    let group = UInt64(GroupLayout.magicNumber)
    let footer = UInt64(SegmentFooterLayout.magicNumber)
    for (number, byteCount) in [
      (HeaderSlotLayout.magicNumber, 8), (SegmentLayout.magicNumber, 8), (group, 4), (footer, 4),
      (RetainedFrameMap.file.magic, 8), (NamedGenerations.file.magic, 8),
      (HolderLayout.magicNumber, 8),
    ] {
      let bytes = (0..<byteCount).map { UInt8(truncatingIfNeeded: number >> UInt64($0 * 8)) }
      let hex = bytes.map { String($0, radix: 16, uppercase: true) }.joined(separator: " ")
      let letters = String(decoding: bytes, as: UTF8.self)
      #expect(text.contains("`\(hex)`, \"\(letters)\""))
    }
  }
}
