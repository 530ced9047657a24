import HeartwoodEngine

extension FuzzTarget {
  /// Backup files: their names, headers and page images.
  ///
  /// An input consists of the repairs, the header, and the page images without their final zeros.
  static let backup = FuzzTarget(
    "backup", maxByteCount: 512,
    words: ["full-0000000000000015", "delta-0000000000000009-0000000000000015"],
    seeds: backupInputs
  ) { bytes in
    var input = FuzzInput(bytes)
    let choice = input.byte()
    guard choice & 0x80 == 0 else { return findingInName(input.text()) }
    let repairs = Repairs(rawValue: choice)
    let header = backupHeader(&input, repairs)
    defer { header.keep() }
    let fields = header.bytes.bytes
    let base = fields.load64(BackupLayout.baseFrame.offset)
    let frame = fields.load64(BackupLayout.frame.offset)
    let images = backupImages(&input, fields, repairs)
    let digest = ByteBlock(count: BackupLayout.digestByteCount)
    let number = images.reduce(0) {
      BackupLayout.digest($0, $1.bytes.bytes.load64(PageLayout.hash.offset))
    }
    digest.bytes.store64(number, 0)
    let blocks = [header] + images + [digest]
    defer { for block in blocks { block.keep() } }
    let name = BackupName(base: base == 0 ? nil : base, frame: frame)
    return try findingInFile(name, blocks)
  }

  private static let pageByteCount = 4096
  /// The maximum number of images in an input.
  private static let maxImageCount = 2

  private static func findingInName(_ text: String) -> String? {
    guard let name = BackupName(text) else { return nil }
    return name.text == text && BackupName(name.text) == name ? nil : "The name has a second text."
  }

  private static func findingInFile(_ name: BackupName, _ blocks: [ByteBlock]) throws -> String? {
    let fileSystem = MemoryFileSystem()
    let bytes = try fileSystem.create("/" + name.text)
    try bytes.write(blocks.map(\.bytes.bytes), at: 0)
    let file = try BackupFile(name, in: "", fileSystem)
    var count = 0
    try file.forEachImage { _, image throws(StorageError) in
      if image.count == pageByteCount { count += 1 }
    }
    guard count == file.header.imageCount else { return "An image is missing." }
    let again = file.header.encoded()
    defer { again.keep() }
    try bytes.write([again.bytes.bytes], at: 0)
    return try BackupHeader.read(bytes, name.text) == file.header
      ? nil : "The header differs after encoding it again."
  }

  /// Reads a header: its fields after the signature, the lineages, and the names.
  private static func backupHeader(_ input: inout FuzzInput, _ repairs: Repairs) -> ByteBlock {
    typealias Layout = BackupLayout
    let start = Layout.version.offset
    let content = input.bytes(Layout.lineages.offset - start)
    let fields = block(content, at: start, count: Layout.byteCount)
    defer { fields.keep() }
    let target = fields.bytes
    func limit(_ field: Field, _ count: UInt32) {
      target.store32(target.bytes.load32(field.offset) % count, field.offset)
    }
    if repairs.contains(.identity) {
      target.store64(Layout.magicNumber, Layout.magic.offset)
      target.store32(Layout.currentVersion, Layout.version.offset)
      target.store32(UInt32(pageByteCount), Layout.pageByteCount.offset)
      target.store32(16, Layout.framesPerSegment.offset)
      target.store32(1, Layout.footerFrames.offset)
    }
    limit(Layout.nameByteCount, 2048)
    if repairs.contains(.counts) {
      limit(Layout.imageCount, UInt32(maxImageCount + 1))
      limit(Layout.lineageCount, UInt32(Limits.maxLineageCount + 1))
    }
    let lineages = Int(target.bytes.load32(Layout.lineageCount.offset))
    target.copy(input.bytes(min(lineages, Limits.maxLineageCount) * 16), to: Layout.lineages.offset)
    let nameByteCount = Int(target.bytes.load32(Layout.nameByteCount.offset))
    let end = Layout.byteCount + (nameByteCount + 7) / 8 * 8
    let header = block(target.bytes, count: end + 8)
    header.bytes.copy(input.bytes(nameByteCount), to: Layout.byteCount)
    if repairs.contains(.hash) {
      header.bytes.store64(XXH64.hash(header.bytes.bytes.slice(0, end), seed: 0), end)
    }
    return header
  }

  /// Reads page images, each of which consists of a byte count and the bytes that start with the
  /// frame field.
  private static func backupImages(
    _ input: inout FuzzInput, _ header: Bytes, _ repairs: Repairs
  ) -> [ByteBlock] {
    let count = min(Int(header.load32(BackupLayout.imageCount.offset)), maxImageCount)
    let seed = header.load64(BackupLayout.storeLow.offset)
    return (0..<count).map { _ in
      let content = input.bytes(input.number())
      let image = block(content, at: PageLayout.frame.offset, count: pageByteCount)
      if repairs.contains(.hash) {
        let hash = PageChecks.hash(image.bytes.bytes, seed: seed)
        image.bytes.store64(hash, PageLayout.hash.offset)
      }
      return image
    }
  }

  @Sendable private static func backupInputs() throws -> [[UInt8]] {
    guard
      let geometry = Geometry(pageByteCount: pageByteCount, segmentByteCount: 16 * pageByteCount)
    else { return [] }
    let names = [[], ["daily"], ["daily", "vor Umzug"]]
    let files: [[UInt8]] = (0..<3).map { count in
      let header = BackupHeader(
        geometry: geometry, identity: fuzzedStore, series: 5,
        base: count == 0 ? nil : BackupStart(frame: 9, digest: 1, lineage: 2),
        point: CommitPoint(frame: 21, digest: 3, lineage: 2, pageCount: 8, time: 17),
        lineages: (0..<count).map { EndedLineage(lineage: UInt64($0), end: 5) },
        names: Dictionary(uniqueKeysWithValues: names[count].map { ($0, 7) }), imageCount: count)
      let encoded = header.encoded()
      defer { encoded.keep() }
      let (bytes, start) = (encoded.bytes.bytes, BackupLayout.version.offset)
      let nameByteCount = Int(bytes.load32(BackupLayout.nameByteCount.offset))
      var input = [Repairs.all.rawValue]
      input += bytes.slice(start, BackupLayout.lineages.offset + count * 16 - start).copied()
      input += bytes.slice(BackupLayout.byteCount, nameByteCount).copied()
      for page in 0..<count {
        // The fields are the frame, page, tree, kind and level, in this order.
        input += [18, 0, 20, 0, 0, 0, 0, 0, 0, 0, UInt8(page * 2 + 1), 0, 0, 0, 4, 0, 0, 0, 1, 0]
      }
      return input
    }
    return files
      + ["full-0000000000000015", "delta-0000000000000009-0000000000000015"].map {
        [0x80] + Array($0.utf8)
      }
  }
}
