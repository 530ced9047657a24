import Foundation
import Heartwood
import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Runs the commands in the tool's guide, and compares their output with the output in the guide.
///
/// With `HEARTWOOD_UPDATE_GUIDE=1`, the outputs in the guide are replaced instead.
@Suite("The guide to heartwoodctl")
struct ToolGuideTests {
  private static let guide = URL(filePath: #filePath).appending(
    path: "../../../Docs/Guides/Heartwoodctl.md"
  ).standardizedFileURL

  @Test func `shows what its commands print`() throws {
    let store = try ObjectStore(oddities: false)
    try store.keep("before")
    try store.change(author: "coach") { context in
      let players = try context.fetch(FetchRequest<ToolPlayer>(sort: [SortDescriptor(\.name)]))
      players[1].weight = 62.5
      context.delete(players[2])
      let new = ToolPlayer(context: context)
      (new.name, new.weight) = ("P9", 70)
    }
    try Self.damageCopy(of: store)
    let text = try String(contentsOf: Self.guide, encoding: .utf8)
    var result: [Substring] = []
    var lines = text.split(separator: "\n", omittingEmptySubsequences: false)[...]
    while let line = lines.popFirst() {
      result.append(line)
      guard line.hasPrefix("$ ") else { continue }
      lines = lines.drop { $0 != "```" }
      let shown = try output(of: String(line.dropFirst(2)), store)
      result += shown.split(separator: "\n", omittingEmptySubsequences: false)
    }
    let new = result.joined(separator: "\n")
    if ProcessInfo.processInfo.environment["HEARTWOOD_UPDATE_GUIDE"] != nil {
      try Data(new.utf8).write(to: Self.guide)
    } else {
      let changes = new.split(separator: "\n").difference(from: text.split(separator: "\n"))
      #expect(changes.isEmpty, "Run this test with HEARTWOOD_UPDATE_GUIDE=1 to update the guide.")
    }
  }

  /// Creates a copy of a store in which the page with the players is overwritten.
  private static func damageCopy(of store: ObjectStore) throws {
    let path = store.fixture.path
    let copy = URL(filePath: path).deletingLastPathComponent().appending(path: "shop-damaged")
    try FileManager.default.copyItem(at: URL(filePath: path), to: copy)
    let damaged = StoreFixture.onDisk(at: copy.path(percentEncoded: false), StoreOptions())
    let page = try damaged.run { opened in
      try opened.release("before")
      try opened.checkpoint()
      let rows = try Catalog.rows(in: opened.snapshot().state.view)
      return try #require(rows.first { $0.name == "objects.2" }).row.root.page
    }
    var bytes = try damaged.bytes(of: "pages")
    let start = Int(Geometry.firstPageOffset) + Int(page) * 4096
    bytes.replaceSubrange(start..<start + 4096, with: repeatElement(0, count: 4096))
    try damaged.write(bytes, to: "pages")
    // The log still contains the page.
    for name in try damaged.names() where name.hasPrefix("wal-") {
      try damaged.fileSystem.remove(damaged.path(of: name))
    }
  }

  /// Returns the output of a command line, with all parts replaced that differ between runs.
  private func output(of line: String, _ store: ObjectStore) throws -> String {
    let process = Process()
    process.executableURL = URL(filePath: "/bin/sh")
    process.arguments = ["-c", line + " 2>&1"]
    let directory = URL(filePath: store.fixture.path).deletingLastPathComponent()
    process.currentDirectoryURL = directory
    let tool = try ToolRun.executable().deletingLastPathComponent().path(percentEncoded: false)
    process.environment = ["PATH": tool + ":/usr/bin:/bin"]
    let link = directory.appending(path: "shop")
    try? FileManager.default.removeItem(at: link)
    try FileManager.default.createSymbolicLink(
      at: link, withDestinationURL: URL(filePath: store.fixture.path))
    let pipe = Pipe()
    process.standardOutput = pipe
    try process.start()
    let data = try pipe.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    var text = String(decoding: data, as: UTF8.self).replacing("\r\n", with: "\n")
    if text.hasSuffix("\n") { text.removeLast() }
    // Times, ages, PIDs and identifiers differ between runs.
    return Self.withoutAges(text).replacing(
      /20[2-9]\d-\d\d-\d\dT[0-9:.]+Z/, with: "2026-11-27T09:41:00.000Z"
    )
    .replacing(#/(fixture|coach  )  +\d+  /#) { "\($0.output.1)     4711  " }
    .replacing(/identity   [0-9a-f]{32}/, with: "identity   68427768ecf3b4ee1d28702fc1ccfa7a")
    .replacing(/lineage    [0-9a-f]{16}/, with: "lineage    01dd57a0485afb48")
    .replacing(/[0-9A-F]{8}-[0-9A-F-]{27}/, with: "9213C23F-42E4-456E-9CAF-2D5B95DC8823")
  }

  /// Returns an output with all ages replaced by "0 s", also in the column of a table.
  private static func withoutAges(_ text: String) -> String {
    text.replacing(#/, \d+ (?:s|min) old/#, with: ", 0 s old")
      .replacing(#/(\n +\d+)  \d+ (?:s|min)(?=  +\d+ bytes)/#) { "\($0.output.1)  0 s" }
      .replacing(#/(?<header>generation  age) *(?<rest>     cost.*)\n-+\n/#) { match in
        let header = match.output.header + match.output.rest
        return header + "\n" + String(repeating: "-", count: header.count) + "\n"
      }
  }
}
