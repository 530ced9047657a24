import HeartwoodEngine

/// Damages numbers that the engine uses as counts, indexes and sizes. The hashes are repaired, so
/// only checks of the numbers themselves can detect the damage.
extension Mutator {
  package enum Aim: String, CaseIterable, Sendable { case counts, cells, catalog, map, kept }

  /// Returns damage that consists of one to three rounds of edits with the given aim.
  ///
  /// The damage has no edits if the sample contains nothing that the aim applies to.
  package mutating func aimedDamage(
    _ aim: Aim, sample: Int, isSameBoot: Bool = false
  ) -> StoreDamage {
    var damage = StoreDamage(sample: sample, repairs: true, isSameBoot: isSameBoot, edits: [])
    for _ in 0...below(3) { damage.edits += aimedEdits(aim, at: damage.store.image) }
    return damage
  }

  /// Returns the edits for one round of damage, or an empty array if the image contains nothing
  /// that the aim applies to.
  package mutating func aimedEdits(_ aim: Aim, at image: StoreImage) -> [StoreEdit] {
    switch aim {
    case .counts: countEdits(image)
    case .cells: cellEdits(image)
    case .catalog: catalogEdits(image)
    case .map:
      fieldEdits(
        image, "map", fields: AtomicFileLayout.fields + MapLayout.fields, rows: MapLayout.rows,
        of: MapLayout.retainedGenerationFields + MapLayout.retainedFrameFields,
        MapLayout.retainedFrameByteCount)
    case .kept:
      fieldEdits(
        image, "kept", fields: AtomicFileLayout.fields, rows: AtomicFileLayout.byteCount,
        of: NamedGenerationLayout.fields, NamedGenerationLayout.rowName)
    }
  }

  // MARK: Nodes

  /// A leaf of the image, located by its file and the offset of its page.
  private struct Leaf {
    let file: Int
    let offset: Int
    let bytes: [UInt8]

    func view<R>(_ body: (NodeView) -> R) -> R { bytes.withBytes { body(NodeView($0)) } }
  }

  private mutating func leaf(
    of image: StoreImage, where isWanted: (NodeView) -> Bool
  ) -> Leaf? {
    // Consider only the newest image of each page, because older images are never read.
    var newest: [PageNumber: (frame: FrameNumber, leaf: Leaf)] = [:]
    for (file, name) in image.names.enumerated() where name == "pages" || name.hasPrefix("wal-") {
      guard let bytes = image.files[name] else { continue }
      let first = name == "pages" ? Int(Geometry.firstPageOffset) : image.pageByteCount
      for offset in stride(
        from: first, through: bytes.count - image.pageByteCount, by: image.pageByteCount)
      {
        let leaf = Leaf(
          file: file, offset: offset, bytes: Array(bytes[offset..<offset + image.pageByteCount]))
        leaf.bytes.withBytes { page in
          let number = page.load32(PageLayout.page.offset)
          let frame = page.load64(PageLayout.frame.offset)
          guard page.load32(GroupLayout.magic.offset) != GroupLayout.magicNumber,
            page.load8(PageLayout.kind.offset) == PageKind.leaf.rawValue,
            NodeChecks.check(page) == nil, frame >= newest[number]?.frame ?? 0
          else { return }
          newest[number] = (frame, leaf)
        }
      }
    }
    let found = newest.sorted { $0.key < $1.key }.map(\.value.leaf).filter { $0.view(isWanted) }
    return found.isEmpty ? nil : found[below(found.count)]
  }

  private mutating func countEdits(_ image: StoreImage) -> [StoreEdit] {
    guard let leaf = leaf(of: image, where: { _ in true }) else { return [] }
    let field = NodeLayout.fields[below(NodeLayout.fields.count)]
    return [write(number(field), field, leaf, 0, image)]
  }

  /// Makes two entries of a leaf share one cell, without changing the total size of the cells.
  private mutating func cellEdits(_ image: StoreImage) -> [StoreEdit] {
    guard let leaf = leaf(of: image, where: { $0.count >= 2 }) else { return [] }
    let count = leaf.view(\.count)
    let lowest = leaf.view { node in
      (0..<count).min { node.leafSlot($0) < node.leafSlot($1) } ?? 0
    }
    let kept = below(2) == 0 ? lowest : below(count)
    let moved = (kept + 1 + below(count - 1)) % count
    return leaf.view { node in
      let used = node.heapUsed + node.cellByteCount(kept) - node.cellByteCount(moved)
      let slots = NodeLayout.headsOffset(prefixLength: node.prefixCount) + count * 8
      let slot = Field("slot", at: slots + moved * NodeLayout.slotByteCount, 2)
      return [
        write(UInt64(node.leafSlot(kept)), slot, leaf, 0, image),
        write(UInt64(used), NodeLayout.heapUsed, leaf, 0, image),
      ]
    }
  }

  /// Changes a row of the catalog.
  private mutating func catalogEdits(_ image: StoreImage) -> [StoreEdit] {
    func rows(_ node: NodeView) -> [Int] {
      (0..<node.count).map { node.leafSlot($0) }.filter {
        node.page.load16($0 + 2) == CatalogLayout.byteCount
      }
    }
    guard let leaf = leaf(of: image, where: { !rows($0).isEmpty }) else { return [] }
    let cells = leaf.view(rows)
    let cell = cells[below(cells.count)]
    let value = leaf.view { node in
      cell + NodeLayout.leafCellHeaderByteCount + max(0, Int(node.page.load16(cell)) - 8)
    }
    let field = below(3) > 0 ? CatalogLayout.count : CatalogLayout.fields[below(3)]
    return [write(number(field), field, leaf, value, image)]
  }

  // MARK: Numbers

  /// Changes one field in the header or in a row of a file that is always replaced atomically.
  private mutating func fieldEdits(
    _ image: StoreImage, _ name: String, fields: [Field], rows: Int, of rowFields: [Field],
    _ rowByteCount: Int
  ) -> [StoreEdit] {
    guard let file = image.names.firstIndex(of: name), let bytes = image.files[name] else {
      return []
    }
    let complete = Leaf(file: file, offset: 0, bytes: [])
    guard below(2) == 0 else {
      let field = fields[below(fields.count)]
      return [write(number(field), field, complete, 0, image)]
    }
    let row = below(max((bytes.count - rows) / rowByteCount, 1))
    let field = rowFields[below(rowFields.count)]
    return [write(number(field), field, complete, rows + row * rowByteCount, image)]
  }

  /// Returns an unusual number: small, near the maximum, or near a power of two.
  private mutating func number(_ field: Field) -> UInt64 {
    let most = field.byteCount == 8 ? UInt64.max : 1 << UInt64(field.byteCount * 8) - 1
    switch below(5) {
    case 0: return UInt64(below(4))
    case 1: return most - UInt64(below(3))
    case 2: return most / 2 + UInt64(below(3))
    case 3: return min(most, UInt64(below(300)))
    default: return min(most, 1 << UInt64(below(field.byteCount * 8)))
    }
  }

  private func write(
    _ value: UInt64, _ field: Field, _ leaf: Leaf, _ start: Int, _ image: StoreImage
  ) -> StoreEdit {
    let position = leaf.offset + start + field.offset
    return StoreEdit(
      .write, file: leaf.file, page: position / image.pageByteCount,
      offset: position % image.pageByteCount, count: field.byteCount - 1, value: value)
  }
}
