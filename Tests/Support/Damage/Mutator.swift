/// Generates random damage from a seed, similar to the damage that faults and attackers cause.
package struct Mutator {
  private var generator: SeededGenerator

  package init(seed: UInt64) { generator = SeededGenerator(seed: seed) }

  /// Returns a random number below `bound`.
  mutating func below(_ bound: Int) -> Int { generator.below(bound) }

  /// Returns damage that consists of one to four edits to a sample store.
  package mutating func damage(sample: Int, repairs: Bool, isSameBoot: Bool) -> StoreDamage {
    var damage = StoreDamage(
      sample: sample, repairs: repairs, isSameBoot: isSameBoot, edits: [])
    for _ in 0...generator.below(4) { damage.edits.append(edit(of: damage.store.image)) }
    return damage
  }

  /// Returns damage that changes one to three single bytes in the segment footers of a sample
  /// store.
  package mutating func footerDamage(sample: Int, repairs: Bool) -> StoreDamage {
    var damage = StoreDamage(sample: sample, repairs: repairs, edits: [])
    let image = damage.store.image
    let segments = image.names.indices.filter { image.names[$0].hasPrefix("wal-") }
    for _ in 0...generator.below(3) {
      let file = segments[generator.below(segments.count)]
      damage.edits.append(
        StoreEdit(
          .write, file: file, page: image.pageCount(of: image.names[file]) - 1,
          offset: generator.below(2) == 0 ? 16 + generator.below(48) : generator.below(200),
          count: 0, value: absurdByte()))
    }
    return damage
  }

  /// Returns a random edit to one of the files in `image`.
  package mutating func edit(of image: StoreImage) -> StoreEdit {
    let file = generator.below(image.names.count)
    let name = image.names[file]
    let pageByteCount = image.pageByteCount
    let pageCount = max(image.pageCount(of: name), 1)
    let page = page(of: name, in: image)
    let offset = generator.below(pageByteCount)
    switch generator.below(12) {
    case 0:
      return StoreEdit(
        .flip, file: file, page: page, offset: offset, value: 1 << UInt64(generator.below(8)))
    case 1:
      return StoreEdit(.cut, file: file, page: generator.below(pageCount), offset: offset)
    case 2:
      return StoreEdit(
        .extend, file: file, count: generator.below(3 * pageByteCount),
        value: UInt64(generator.below(2) * 255))
    case 3:
      return StoreEdit(.fill, file: file, page: page, count: 512 * (generator.below(8) + 1))
    case 4:
      let source = self.page(of: name, in: image)
      return StoreEdit(.copyPage, file: file, page: page, count: source)
    case 5:
      let copiesFile = generator.below(4) == 0
      return StoreEdit(
        copiesFile ? .copyFile : .remove, file: file, count: generator.below(image.names.count))
    case 6, 7, 8:
      return StoreEdit(
        .add, file: file, page: page, offset: numberOffset(pageByteCount),
        count: generator.below(4), value: UInt64(bitPattern: Int64(generator.below(9)) - 4))
    default:
      var value: UInt64 = 0
      for _ in 0..<8 { value = value << 8 | absurdByte() }
      return StoreEdit(
        .write, file: file, page: page, offset: numberOffset(pageByteCount),
        count: 1 << generator.below(4) - 1, value: value)
    }
  }

  /// Returns the index of a random page of a file, usually one that does not consist only of zeros.
  private mutating func page(of name: String, in image: StoreImage) -> Int {
    let used = image.usedPages[name] ?? []
    if used.isEmpty || generator.below(10) == 0 {
      return generator.below(max(image.pageCount(of: name), 1))
    }
    return used[generator.below(used.count)]
  }

  /// Returns an offset where a number is likely: two times out of three, near the start of a page.
  private mutating func numberOffset(_ pageByteCount: Int) -> Int {
    generator.below(generator.below(3) == 0 ? pageByteCount : 120)
  }

  private mutating func absurdByte() -> UInt64 {
    [0, 1, 2, 6, 7, 0x7F, 0x80, 0xFE, 0xFF][generator.below(9)]
  }
}
