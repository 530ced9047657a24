import Foundation
import HeartwoodEngine
import Testing

/// Compares `Docs/Reference/Limits.md` with the constants in the code.
///
/// Each constant must have a row with its value and a reason.
@Suite("The limits document")
struct LimitsDocumentTests {
  private static let values: [String: UInt64] = [
    "minPageByteCount": UInt64(Limits.minPageByteCount),
    "maxOpenSegmentCount": UInt64(Limits.maxOpenSegmentCount),
    "maxUnsyncedSegmentCount": UInt64(Limits.maxUnsyncedSegmentCount),
    "maxPageByteCount": UInt64(Limits.maxPageByteCount),
    "maxKeyByteCount": UInt64(Limits.maxKeyByteCount),
    "maxValueByteCount": UInt64(Limits.maxValueByteCount),
    "maxCopiedValueByteCount": UInt64(Limits.maxCopiedValueByteCount),
    "maxTreeLevel": UInt64(Limits.maxTreeLevel),
    "maxKeyspaceNameByteCount": UInt64(Limits.maxKeyspaceNameByteCount),
    "maxGenerationNameByteCount": UInt64(Limits.maxGenerationNameByteCount),
    "maxPageCount": Limits.maxPageCount,
    "maxEntryCount": Limits.maxEntryCount,
    "maxFrame": Limits.maxFrame,
    "maxLineageCount": UInt64(Limits.maxLineageCount),
    "maxSegmentByteCount": UInt64(Limits.maxSegmentByteCount),
    "maxSegmentSpan": Limits.maxSegmentSpan,
    "maxRetainedGenerationCount": UInt64(Limits.maxRetainedGenerationCount),
    "maxHolderRowCount": UInt64(Limits.maxHolderRowCount),
    "maxHeldGenerationLockCount": UInt64(Limits.maxHeldGenerationLockCount),
    "maxAttemptCount": UInt64(Limits.maxAttemptCount),
  ]

  private static func rows() throws -> [[String]] {
    let tables = DocumentTable.all(in: try Package.text(of: "Docs/Reference/Limits.md"))
    return try #require(tables.first { $0.category == "limits" && $0.name == "Limits" }).rows
  }

  @Test func `has one row for each constant of the source`() throws {
    let source = try Package.text(of: "Sources/HeartwoodEngine/Foundations/Limits.swift")
    let names = source.matches(of: /static let (\w+)/).map { String($0.output.1) }
    #expect(try Self.rows().map { $0[0] } == names)
    #expect(Self.values.keys.sorted() == names.sorted())
  }

  @Test func `gives each constant its value and a reason`() throws {
    for row in try Self.rows() {
      let digits = row[1].filter { $0 != "," }
      #expect(UInt64(digits) == Self.values[row[0]], "\(row[0])")
      #expect(row[2].count > 20, "\(row[0])")
    }
  }
}
