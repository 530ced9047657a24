import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// A small store on disk with known contents, which the test process closes before the tool reads
/// it.
struct ToolStore {
  let fixture: StoreFixture
  /// The generation named "before", in which the value for 1872 is "wet".
  let before: Generation
  let newest: Generation

  /// Keys of every type, each with the text that the tool shows, in key order.
  static let mixedKeys: [(key: Key, text: String)] = [
    (Key(Optional<Int>.none), "nil"),
    (Key(true), "true"),
    (Key(-5), "-5"),
    (Key(UInt64.max), "18446744073709551615"),
    (Key(1.5), "1.5"),
    (Key("a\"b\u{1B}[31m"), #""a\"b\u{1B}[31m""#),
    (Key("nc", 5), #"("nc", 5)"#),
    (Key("nc", "x,y"), #"("nc", "x,y")"#),
    (Key([UInt8]([0, 255])), "0x00ff"),
  ]

  /// A one-byte character and many two-byte characters, so that truncation at an even offset splits
  /// a character.
  static let largeText = "x" + String(repeating: "äöü", count: 2000)

  init(keepsBefore: Bool = true) throws {
    fixture = try StoreFixture.onDisk()
    (before, newest) = try fixture.run { store in
      let before = try store.write { transaction in
        let rings = try transaction.keyspace("rings")
        try rings.put(1871, Array("dry".utf8))
        try rings.put(1872, Array("wet".utf8))
        let numbers = try transaction.keyspace("numbers")
        for number in 0..<500 { try numbers.put(number, [UInt8](repeating: 7, count: 60)) }
      }
      if keepsBefore { try store.keep(before, as: "before") }
      let newest = try store.write { transaction in
        try transaction.keyspace("rings").put(1872, Array("frost\nin May".utf8))
        let mixed = try transaction.keyspace("mixed")
        for (key, text) in Self.mixedKeys { try mixed.put(key, Array(text.utf8)) }
        let large = try transaction.keyspace("large")
        try large.put("text", Array(Self.largeText.utf8))
        try large.put("bytes", [UInt8](repeating: 0xFE, count: 10_000))
      }
      return (before, newest)
    }
  }

  var path: String { fixture.path }

  func run(_ command: String, _ arguments: String...) throws -> ToolRun {
    try ToolRun([command, path] + arguments)
  }

  /// Opens the store, runs `body`, and expects verification to find no damage.
  func expectSound(_ body: (Store) throws -> Void = { _ in }) throws {
    try fixture.run { store throws in try body(store) }
  }

  /// Changes one byte of the fullest leaf in the page file, and returns the leaf's page number.
  func damageLeaf() throws -> Int {
    let pages = try fixture.run { store throws in
      try store.checkpoint()
      return try store.pageUsage(of: store.snapshot())
    }
    let leaves = pages.indices.filter { pages[$0].kind == .leaf }
    let fullest = leaves.max { pages[$0].usedByteCount < pages[$1].usedByteCount }
    let page = try #require(fullest)
    try flip(Int(Geometry.firstPageOffset) + page * 4096 + 4000)
    return page
  }

  func flip(_ offset: Int) throws {
    var bytes = try fixture.bytes(of: "pages")
    bytes[offset] ^= 0x40
    try fixture.write(bytes, to: "pages")
  }
}
