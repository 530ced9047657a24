/// The layout of a row in the `kept` file.
///
/// The name of the generation follows these fields.
package enum NamedGenerationLayout {
  package static let lineage = Field("lineage", at: 0, 8)
  package static let generation = Field("generation", at: 8, 8)
  package static let time = Field("time", at: 16, 8)
  package static let nameByteCount = Field("nameByteCount", at: 24, 4)
  package static let reserved = Field("reserved", at: 28, 4)
  package static let fields = [lineage, generation, time, nameByteCount, reserved]
  package static let rowName = 32
}

/// The named generations of a store.
package struct NamedGenerations: Hashable, Sendable {
  package struct Row: Hashable, Sendable {
    package let lineage: UInt64
    package let generation: FrameNumber
    package let time: UInt64

    package init(lineage: UInt64, generation: FrameNumber, time: UInt64) {
      self.lineage = lineage
      self.generation = generation
      self.time = time
    }
  }

  package var rows: [String: Row] = [:]

  /// The `kept` file, whose magic number is "HEARTKPT".
  package static let file = AtomicFile(
    "kept", magic: 0x5450_4B54_5241_4548,
    advice: "Restore a backup, or remove the file. Removing it releases all named generations.")

  package init() {}

  /// Reads the named generations, or returns an empty value if the file does not exist.
  package static func read(_ log: LogFiles) throws(StorageError) -> NamedGenerations {
    func lengths(_ fields: Bytes) -> ClosedRange<UInt64> {
      let rowCount = UInt64(fields.load32(AtomicFileLayout.rowCount.offset))
      let ends = UInt64(AtomicFileLayout.byteCount + AtomicFileLayout.hashByteCount)
      let least = UInt64(byteCount(nameByteCount: 1))
      let most = UInt64(byteCount(nameByteCount: Limits.maxGenerationNameByteCount))
      return ends + rowCount * least...ends + rowCount * most
    }
    let fieldByteCount = AtomicFileLayout.byteCount
    return try file.read(
      log, fieldByteCount: fieldByteCount, lengths: lengths, decode: decode) ?? NamedGenerations()
  }

  package func encoded(for identity: StoreIdentity) -> ByteBlock {
    typealias Layout = NamedGenerationLayout
    let rows = rows.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
    let end = rows.reduce(AtomicFileLayout.byteCount) {
      $0 + Self.byteCount(nameByteCount: $1.key.utf8.count)
    }
    let block = ByteBlock(count: end + AtomicFileLayout.hashByteCount)
    let target = block.bytes
    var offset = AtomicFileLayout.byteCount
    for (name, row) in rows {
      let text = Array(name.utf8)
      target.store64(row.lineage, offset + Layout.lineage.offset)
      target.store64(row.generation, offset + Layout.generation.offset)
      target.store64(row.time, offset + Layout.time.offset)
      target.store32(UInt32(text.count), offset + Layout.nameByteCount.offset)
      text.withBytes { target.copy($0, to: offset + Layout.rowName) }
      offset += Self.byteCount(nameByteCount: text.count)
    }
    Self.file.stamp(target, rowCount: rows.count, for: identity)
    return block
  }

  private static func byteCount(nameByteCount: Int) -> Int {
    NamedGenerationLayout.rowName + (nameByteCount + 7) / 8 * 8
  }

  /// Decodes the rows.
  ///
  /// - Throws: `corrupt` if the bytes are damaged. A damaged row is not skipped, because a
  ///   maintenance run could then reclaim the generation that the row was meant to protect.
  package static func decode(
    _ bytes: Bytes, of identity: StoreIdentity
  ) throws(StorageError) -> NamedGenerations {
    typealias Layout = NamedGenerationLayout
    let damaged = file.damaged("its list of named generations is invalid")
    let rowCount = try file.check(bytes, atLeast: AtomicFileLayout.byteCount, of: identity)
    let end = bytes.count - AtomicFileLayout.hashByteCount
    var named = NamedGenerations()
    var offset = AtomicFileLayout.byteCount
    for _ in 0..<rowCount {
      guard end - offset >= Layout.rowName else { throw damaged }
      let nameByteCount = Int(bytes.load32(offset + Layout.nameByteCount.offset))
      guard nameByteCount > 0, nameByteCount <= Limits.maxGenerationNameByteCount,
        end - offset >= byteCount(nameByteCount: nameByteCount),
        bytes.load64(offset + Layout.generation.offset) <= Limits.maxFrame,
        let name = String(
          validating: bytes.slice(offset + Layout.rowName, nameByteCount).copied(), as: UTF8.self)
      else { throw damaged }
      named.rows[name] = Row(
        lineage: bytes.load64(offset + Layout.lineage.offset),
        generation: bytes.load64(offset + Layout.generation.offset),
        time: bytes.load64(offset + Layout.time.offset))
      offset += byteCount(nameByteCount: nameByteCount)
    }
    guard offset == end else { throw damaged }
    return named
  }
}
