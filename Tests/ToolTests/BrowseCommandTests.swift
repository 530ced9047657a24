import Foundation
import Heartwood
import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Tests `heartwoodctl browse`.
@Suite("The HTML page of a store")
struct BrowseCommandTests {
  /// Texts that could end the element that contains them, or change the surrounding elements.
  private static let hostileTexts = [
    "</script><script>document.title = 'broken'</script>", "<!--<script>", "]]>", "&lt;b&gt;",
    "\"'`${1}\\", "\\u003c", "line\u{2028}paragraph\u{2029}", "\u{0}\u{7F}\u{85}\r\n\t",
    "\u{202E}txt.exe\u{2066}", "\u{301}\u{301}", "\u{FEFF}\u{FFFE}\u{E000}", "javascript:alert(1)",
  ]

  @Test func `contains the values of all objects`() throws {
    let store = try ObjectStore()
    let directory = try ScratchDirectory()
    let page = try BrowsedPage(of: store, in: directory)
    let players = try page.rows(of: "Player")
    #expect(players.map { $0["row"] as? Int } == [1, 2, 3, 4, 5])
    #expect(players.map { $0["name"] as? String } == (0..<5).map { "P\($0)" })
    #expect(players.map { $0["number"] as? Int } == [0, 1, 2, 3, nil])
    #expect(players.map { $0["weight"] as? Double } == (0..<5).map { Double($0) * 10.5 })
    #expect(players.map { $0["born"] as? Double } == (0..<5).map { Double($0) * 86_400.5 })
    #expect(
      players.map { $0["team"] as? String } == ["Team/1", "Team/2", "Team/1", "Team/2", nil])
    let captains = try page.rows(of: "Captain")
    #expect(captains.map { $0["name"] as? String } == ["P5"])
    let teams = try page.rows(of: "Team")
    #expect(teams.map { $0["name"] as? String } == ["Reds", "Blues", "Empty"])
    let lineUp = try #require(teams[0]["lineUp"] as? [Any])
    #expect(lineUp[0] as? Int == 6)
    #expect(lineUp.dropFirst().first as? String == "Captain/1")
    #expect(lineUp.last as? String == "Player/1")
    #expect(teams[2]["players"] as? [Int] == [0])

    let oddities = try page.rows(of: "Oddity")
    let count = ObjectStore.oddTexts.count
    #expect(oddities.count == count + 1)
    let short = oddities.prefix(count - 1).map { $0["text"] as? String }
    #expect(short == ObjectStore.oddTexts.dropLast())
    let long = try #require(oddities[count - 1]["text"] as? [String: Any])
    #expect(long["bytes"] as? Int == 25_000)
    #expect(long["text"] as? String == String(ObjectStore.oddTexts[count - 1].prefix(4096)))
    let extreme = oddities[count]
    #expect(extreme["flag"] as? Bool == false)
    #expect(extreme["tiny"] as? Int == -128)
    #expect(extreme["large"] as? String == "18446744073709551615")
    #expect(extreme["double"] as? String == "nan")
    #expect(extreme["single"] as? String == "inf")
    #expect(oddities[0]["single"] as? Double == 0.1)
    #expect(extreme["moment"] as? Double == -20_000_000_000.125)
    #expect(extreme["price"] as? String == "12.5")
    #expect(extreme["data"] as? String == "0x00ff")
    #expect(extreme["link"] as? String == "https://example.org/a?b=c")
    #expect(extreme["words"] as? String == #"["one","two"]"#)
    #expect(UUID(uuidString: extreme["code"] as? String ?? "") != nil)
  }

  @Test func `contains no text of the store as markup`() throws {
    let store = try ObjectStore()
    try store.change { context in
      for text in Self.hostileTexts {
        let oddity = ToolOddity(context: context)
        oddity.text = text
      }
    }
    let directory = try ScratchDirectory()
    let page = try BrowsedPage(of: store, in: directory)
    let texts = try page.rows(of: "Oddity").suffix(Self.hostileTexts.count)
    #expect(texts.map { $0["text"] as? String } == Self.hostileTexts)
    // The page has a script element for the model, one for each of the four entities, and one for
    // the script itself.
    #expect(page.text.ranges(of: "<script").count == 6)
    #expect(page.text.ranges(of: "</script").count == 6)
    #expect(!page.text.contains("<!--"))
    #expect(!page.text.contains("<b>"))
    let isVisible = page.text.unicodeScalars.allSatisfy { $0 == "\n" || VisibleText.isVisible($0) }
    #expect(isVisible)
    #expect(page.text.contains("content=\"default-src 'none'; script-src 'nonce-"))
    #expect(!page.text.contains("http:") && !page.text.contains("src="))
  }

  @Test func `shows the names of a hostile model as text`() throws {
    let directory = try ScratchDirectory()
    let page = try BrowsedPage(ofHostileModelIn: directory)
    #expect(page.text.ranges(of: "<script").count == 3)
    #expect(!page.text.contains("<img"))
    #expect(try page.rows(of: HostileName.name).count == 1)
  }

  @Test func `bounds long texts, even those of a single character`() throws {
    let store = try ObjectStore()
    try store.change { context in
      let marks = String(repeating: "\u{301}", count: 500_000)
      for text in ["e" + marks, "x" + String(repeating: "😀", count: 250_000)] {
        let oddity = ToolOddity(context: context)
        oddity.text = text
        oddity.data = Data(repeating: 7, count: 1_000_000)
      }
    }
    let directory = try ScratchDirectory()
    let page = try BrowsedPage(of: store, in: directory)
    #expect(page.text.utf8.count < 150_000)
    let rows = try page.rows(of: "Oddity").suffix(2)
    let values = rows.flatMap { [$0["text"], $0["data"]] }.compactMap { $0 as? [String: Any] }
    #expect(values.map { $0["bytes"] as? Int } == [1_000_001, 1_000_000, 1_000_001, 1_000_000])
    let lengths = values.map { ($0["text"] as? String)?.utf8.count }
    #expect(lengths == [4095, 514, 4093, 514])
  }

  @Test func `omits rows and members beyond the limits, and says so`() throws {
    let store = try ObjectStore()
    try store.change { context in
      let request = FetchRequest<ToolTeam>(sort: [SortDescriptor(\.name)])
      let team = try #require(try context.fetch(request).first)
      for number in 0..<30 {
        let player = ToolPlayer(context: context)
        player.name = "Reserve \(number)"
        player.team = team
      }
    }
    let directory = try ScratchDirectory()
    let file = directory.path(of: "page.html")
    let run = try store.run("browse", "--html", file, "--limit", "2")
    run.expectFine()
    let byteCount = try Data(contentsOf: URL(fileURLWithPath: file)).count
    let rowCount = 40 + ObjectStore.oddTexts.count
    #expect(
      run.output == "4 entities, 7 of \(rowCount) rows, \(byteCount.formatted()) bytes: \(file)\n")
    let page = try BrowsedPage(file)
    #expect(try page.rows(of: "Player").map { $0["name"] as? String } == ["P0", "P1"])
    #expect(page.text.contains("The page contains the first 2 of 35 objects; 33 are omitted."))
    #expect(page.text.contains("The page contains the first 2 of 3 objects; 1 is omitted."))
    let blues = try #require(try page.rows(of: "Team").last?["players"] as? [Any])
    #expect(blues[0] as? Int == 32)
    #expect(blues.count == 21)
    let all = try store.run("browse", "--html", file)
    #expect(all.output.hasPrefix("4 entities, \(rowCount) rows, "))
    #expect(try !BrowsedPage(file).text.contains("omitted"))
    try store.run("browse", "--html", file, "--limit", "0").expectFine()
    #expect(try BrowsedPage(file).rows(of: "Player").isEmpty)
  }

  @Test func `shows an older generation`() throws {
    let store = try ObjectStore()
    try store.keep("before")
    let before = try store.generation()
    try store.change { context in
      for player in try context.fetch(FetchRequest<ToolPlayer>()) { player.weight = 1 }
    }
    let directory = try ScratchDirectory()
    func weights(_ arguments: String...) throws -> [Double?] {
      let page =
        arguments.isEmpty
        ? try BrowsedPage(of: store, in: directory)
        : try BrowsedPage(of: store, in: directory, arguments[0], arguments[1])
      #expect(page.text.contains("\(before)") == !arguments.isEmpty)
      return try page.rows(of: "Player").map { $0["weight"] as? Double }
    }
    #expect(try weights() == [1, 1, 1, 1, 1])
    #expect(try weights("--at", "\(before.frame)") == [0, 10.5, 21, 31.5, 42])
    #expect(try weights("--named", "before") == [0, 10.5, 21, 31.5, 42])
  }

  @Test func `replaces an existing file only when it is complete`() throws {
    let store = try ObjectStore()
    let directory = try ScratchDirectory()
    let file = directory.path(of: "page.html")
    try Data("old".utf8).write(to: URL(fileURLWithPath: file))
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
    try store.run("browse", "--html", file).expectFine()
    let complete = try BrowsedPage(file).text
    #expect(complete.hasSuffix("</html>\n"))
    let facts = try FileManager.default.attributesOfItem(atPath: file)
    #expect(facts[.posixPermissions] as? Int == 0o600)

    // The file size limit makes writing the page fail after 4 KiB.
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/bin/sh")
    process.arguments = [
      "-c", "ulimit -f 8; exec \"$0\" browse \"$1\" --html \"$2\"",
      try ToolRun.executable().path, store.fixture.path, file,
    ]
    let complaint = Pipe()
    process.standardError = complaint
    try process.start()
    let words = String(
      decoding: try complaint.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
    process.waitUntilExit()
    #expect(process.terminationStatus == 1)
    #expect(words.contains("\(file) could not be written: "), "\(words)")
    #expect(try BrowsedPage(file).text == complete)
    #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path) == ["page.html"])
  }

  @Test func `leaves an existing file unchanged if the store is damaged`() throws {
    let store = try ObjectStore()
    try store.run("checkpoint").expectFine()
    let pages = try store.fixture.run { opened throws in
      try opened.pageUsage(of: opened.snapshot())
    }
    var bytes = try store.fixture.bytes(of: "pages")
    for page in pages.indices where pages[page].kind == .leaf {
      bytes[Int(Geometry.firstPageOffset) + page * 4096 + 4000] ^= 0x40
    }
    try store.fixture.write(bytes, to: "pages")
    let directory = try ScratchDirectory()
    let file = directory.path(of: "page.html")
    try Data("old".utf8).write(to: URL(fileURLWithPath: file))
    try store.run("browse", "--html", file).expectComplaint("verify", exitCode: 1)
    #expect(try BrowsedPage(file).text == "old")
    #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path) == ["page.html"])
  }

  @Test func `rejects a missing option, and files that must not be replaced`() throws {
    let store = try ObjectStore()
    try store.run("browse").expectComplaint(
      "Missing option --html. Usage: heartwoodctl browse PATH --html FILE [--limit N]", exitCode: 2)
    let pages = store.fixture.path + "/pages"
    try store.run("browse", "--html", pages).expectComplaint(
      "is inside the store's directory", exitCode: 1)
    let directory = try ScratchDirectory()
    try store.run("browse", "--html", directory.path).expectComplaint(
      "does not refer to a regular file", exitCode: 1)
    try store.run("browse", "--html", directory.path(of: "none/page.html")).expectComplaint(
      "could not be written", "Write to a different file", exitCode: 1)
    let keys = try ToolStore()
    try keys.run("browse", "--html", directory.path(of: "page.html")).expectComplaint(
      "contains no objects", exitCode: 1)
    #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path) == [])
    let link = directory.path(of: "link.html")
    let target = directory.path(of: "target.html")
    try Data().write(to: URL(fileURLWithPath: target))
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: target)
    try store.run("browse", "--html", link).expectFine()
    #expect(try BrowsedPage(target).text.hasSuffix("</html>\n"))
  }
}
