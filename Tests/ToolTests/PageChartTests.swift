import Foundation
import HeartwoodEngine
import HeartwoodTestSupport
import Testing

#if canImport(FoundationXML)
  import FoundationXML
#endif

/// Tests the chart of the page usage that `heartwoodctl stat` prints.
@Suite("The page chart of a store")
struct PageChartTests {
  @Test func `has a mark for each page and counts them`() throws {
    let store = try ToolStore()
    let run = try store.run("stat")
    run.expectFine()
    // Colours are used only on terminals.
    #expect(!run.output.contains("\u{1B}"))
    let document = try store.run("stat", "--json").json()
    let kinds = try #require(document["kinds"] as? [[String: Any]])
    try store.expectSound { opened throws in
      let pages = try opened.pageUsage(of: opened.snapshot())
      #expect(document["pageCount"] as? Int == pages.count)
      for (kind, word) in [(PageUsage.Kind.leaf, "leaf"), (.overflow, "overflow"), (.free, "free")]
      {
        let row = try #require(kinds.first { $0["kind"] as? String == word })
        #expect(row["pageCount"] as? Int == pages.count { $0.kind == kind })
      }
      let marks = run.lines[2]
      #expect(marks.count == pages.count)
      #expect(marks.count { $0 == "▣" } == pages.count { $0.kind == .bitmap })
      #expect(marks.count { "░▒▓█".contains($0) } == pages.count { $0.kind == .leaf })
      #expect(marks.count { $0 == "·" } == pages.count { $0.kind == .free })
    }
  }

  @Test func `shows older generations`() throws {
    let store = try ToolStore()
    let run = try store.run("stat", "--named", "before")
    run.expectFine()
    #expect(run.output.hasPrefix("generation \(store.before.frame), "))
    // The earlier generation does not contain the large values yet.
    #expect(!run.lines[2].contains { "▁▃▅▇".contains($0) })
    #expect(try store.run("stat").lines[2].contains { "▁▃▅▇".contains($0) })
    #expect(try store.run("stat", "--at", "\(store.before.frame)").output == run.output)
    try store.expectSound()
  }

  @Test func `uses one mark for many pages of a large store`() throws {
    var options = StoreOptions()
    options.durability = .normal
    let fixture = try StoreFixture.onDisk(options)
    let pageCount = try fixture.run { store throws in
      try store.write { transaction in
        try transaction.keyspace("large").put(1, [UInt8](repeating: 1, count: 9 << 20))
      }
      return store.statistics.pageCount
    }
    let run = try ToolRun("stat", fixture.path)
    run.expectFine()
    #expect(run.output.contains("each mark stands for 2 pages"))
    let marks = run.lines.dropFirst(2).prefix { !$0.isEmpty }
    #expect(marks.joined().count == (pageCount + 1) / 2)
    #expect(marks.count <= 16)
    for line in run.lines { #expect(line.count <= 100) }
    try fixture.run { _ in }
    // One damaged page is sufficient to change the mark that represents it.
    var bytes = try fixture.bytes(of: "pages")
    bytes[Int(Geometry.firstPageOffset) + 1001 * 4096 + 100] ^= 1
    try fixture.write(bytes, to: "pages")
    let damaged = try ToolRun("stat", fixture.path)
    damaged.expectFine()
    let map = damaged.lines.dropFirst(2).prefix { !$0.isEmpty }.joined()
    #expect(map.count { $0 == "✕" } == 1)
    #expect(map.dropFirst(1001 / 2).first == "✕")
  }

  @Test func `is well-formed SVG, whatever the name of the store`() throws {
    let directory = try ScratchDirectory()
    let path = directory.path(of: "<rings> & \"more\"")
    let store = try Store(at: path)
    try store.write { try $0.keyspace("a").put(1, [1]) }
    try StoreFixture.expectSound(store)
    try store.close()
    let file = directory.path(of: "picture.svg")
    let run = try ToolRun("stat", path, "--svg", file)
    run.expectFine()
    let svg = try Data(contentsOf: URL(fileURLWithPath: file))
    let words = SVGWords()
    let parser = XMLParser(data: svg)
    parser.delegate = words
    #expect(parser.parse(), "\(parser.parserError.debugDescription)")
    #expect(words.names.first == "svg")
    #expect(words.text.contains("<rings> & \"more\""))
    #expect(words.text.contains("fill of the leaves"))
    #expect(words.text.contains("prefers-color-scheme"))
    let failed = try ToolRun("stat", path, "--svg", directory.path(of: "none/picture.svg"))
    failed.expectComplaint("could not be written", exitCode: 1)
  }

  @Test func `can be written to a pipe and to a device`() throws {
    let store = try ToolStore()
    try store.run("stat", "--svg", "/dev/null").expectFine()
    let directory = try ScratchDirectory()
    let path = directory.path(of: "pipe")
    try #require(mkfifo(path, 0o600) == 0)
    // Open the pipe for reading and writing, because the tool would otherwise wait for a reader.
    let pipe = open(path, O_RDWR | O_NONBLOCK)
    defer { close(pipe) }
    try store.run("stat", "--svg", path).expectFine()
    var bytes = [UInt8](repeating: 0, count: 1 << 16)
    let count = read(pipe, &bytes, bytes.count)
    #expect(String(decoding: bytes.prefix(max(count, 0)), as: UTF8.self).contains("<svg"))
    try store.run("stat", "--svg", directory.path).expectComplaint(
      "could not be written", exitCode: 1)
  }

  @Test func `does not overwrite the store's files`() throws {
    let store = try ToolStore()
    try store.run("stat", "--svg", store.path + "/pages").expectComplaint(
      "inside the store's directory", exitCode: 1)
    try store.expectSound()
  }
}

/// Collects the element names and the text of an SVG document.
private final class SVGWords: NSObject, XMLParserDelegate {
  var names: [String] = []
  var text = ""

  func parser(
    _ parser: XMLParser, didStartElement name: String, namespaceURI: String?,
    qualifiedName: String?, attributes: [String: String]
  ) {
    names.append(name)
  }

  func parser(_ parser: XMLParser, foundCharacters characters: String) { text += characters }
}
