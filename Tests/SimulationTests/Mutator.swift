import HeartwoodEngine
import HeartwoodTestSupport

/// Changes the files of a store as faults and attackers do; a seed does the same every time.
struct Mutator {
  private(set) var files: [String: [UInt8]]
  /// Whether hashes are repaired after the change.
  let repairs: Bool
  private var generator: SeededGenerator
  private let pageSize: Int
  private let seedOfHashes: UInt64

  init(seed: UInt64, files: [String: [UInt8]], pageSize: Int) {
    self.files = files
    self.pageSize = pageSize
    generator = SeededGenerator(seed: seed)
    repairs = seed % 2 == 1
    let store = files["pages"] ?? []
    seedOfHashes = store.withBytes { bytes in
      bytes.count < 48 ? 0 : bytes.load64(HeaderSlotLayout.storeLow.offset)
    }
  }

  private mutating func below(_ count: Int) -> Int {
    count <= 0 ? 0 : Int(generator.next() % UInt64(count))
  }

  /// Makes one to four changes; says what they were.
  mutating func mutate() -> String {
    var story: [String] = []
    for _ in 0...below(4) {
      let names = files.keys.filter { $0 != "locks" }.sorted()
      let name = names[below(names.count)]
      story.append(mutate(name))
    }
    if repairs { repairHashes() }
    return story.joined(separator: ", ") + (repairs ? ", hashes repaired" : "")
  }

  private mutating func mutate(_ name: String) -> String {
    guard var bytes = files[name], !bytes.isEmpty else { return "\(name) empty" }
    let offset = below(bytes.count)
    let page = offset / pageSize * pageSize
    switch below(9) {
    case 0:
      bytes[offset] ^= UInt8(1 << below(8))
    case 1:
      bytes.removeLast(below(bytes.count) + 1)
    case 2:
      bytes += [UInt8](repeating: UInt8(below(2) * 255), count: below(3 * pageSize))
    case 3:
      let end = min(page + 512 * (below(8) + 1), bytes.count)
      for index in page..<end { bytes[index] = 0 }
    case 4:
      // A page in the place of another.
      let source = below(bytes.count) / pageSize * pageSize
      for index in 0..<min(pageSize, bytes.count - page, bytes.count - source) {
        bytes[page + index] = bytes[source + index]
      }
    case 5:
      files[name] = nil
      return "\(name) removed"
    default:
      // An absurd number where numbers live: in the first bytes of a page.
      let place = min(page + below(120), bytes.count - 1)
      let values: [UInt8] = [0, 1, 0x7F, 0x80, 0xFE, 0xFF]
      for index in place..<min(place + 1 << below(4), bytes.count) {
        bytes[index] = values[below(values.count)]
      }
    }
    files[name] = bytes
    return "\(name) near \(offset)"
  }

  /// Gives every page, frame and header the hash its bytes would have.
  private mutating func repairHashes() {
    for name in files.keys where name == "pages" || name.hasPrefix("wal-") {
      guard let bytes = files[name], bytes.count >= pageSize else { continue }
      let block = ByteBlock(count: bytes.count)
      bytes.withBytes { block.bytes.copy($0, to: 0) }
      var offset = name == "pages" ? Int(Geometry.firstPageOffset) : 0
      if name == "pages" {
        for slot in HeaderSlotLayout.offsets where Int(slot) + 4096 <= bytes.count {
          repair(block.bytes, Int(slot), HeaderSlotLayout.hash.offset)
        }
      } else {
        repair(block.bytes, 0, SegmentLayout.hash.offset)
        offset = pageSize
      }
      while offset + pageSize <= bytes.count {
        repairFrame(block.bytes.slice(offset, pageSize))
        offset += pageSize
      }
      files[name] = block.bytes.bytes.copied()
    }
  }

  private func repair(_ bytes: MutableBytes, _ start: Int, _ count: Int) {
    bytes.store64(XXH64.hash(bytes.bytes.slice(start, count), seed: 0), start + count)
  }

  private func repairFrame(_ frame: MutableBytes) {
    var count = frame.count - 8
    if frame.bytes.load32(GroupLayout.magic.offset) == GroupLayout.magicNumber {
      count = min(max(Int(frame.bytes.load32(GroupLayout.byteCount.offset)) - 8, 0), count)
    }
    frame.store64(XXH64.hash(frame.bytes.slice(8, count), seed: seedOfHashes), 0)
  }
}
