import Foundation
import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Tests the commands that only read, on a store with known contents.
@Suite("The inspection commands")
struct InspectionCommandTests {
  @Test func `show the properties and contents of a store`() throws {
    let store = try ToolStore()
    let run = try store.run("info")
    run.expectFine()
    #expect(run.output.contains("\nformat     version 1\n"))
    #expect(run.output.contains("\nnewest     generation \(store.newest.frame), "))
    #expect(run.output.contains("\nopen by    no other process\n"))
    #expect(run.output.contains(#"named      "before" (generation \#(store.before.frame))"#))
    #expect(run.output.hasSuffix("numbers       500\nrings           2\n"))
    let document = try store.run("info", "--json").json()
    #expect(document["path"] as? String == store.path)
    #expect(document["newestGeneration"] as? Int == Int(store.newest.frame))
    #expect(document["pageByteCount"] as? Int == 4096)
    #expect((document["identity"] as? String)?.count == 32)
    #expect(document["isOpenElsewhere"] as? Bool == false)
    let time = try #require(document["newestTime"] as? String)
    let date = try Date.ISO8601FormatStyle(includingFractionalSeconds: true).parse(time)
    #expect(abs(date.timeIntervalSinceNow) < 3600)
    let keyspaces = try #require(document["keyspaces"] as? [[String: Any]])
    #expect(keyspaces.map { $0["name"] as? String } == ["large", "mixed", "numbers", "rings"])
    #expect(keyspaces.last?["entryCount"] as? Int == 2)
    try store.expectSound { opened throws in
      #expect(document["pageCount"] as? Int == opened.statistics.pageCount)
      #expect(try document["freePageCount"] as? Int == opened.verify().freePageCount)
    }
  }

  @Test func `show why the last checkpoint of another process failed`() throws {
    let store = try ToolStore()
    #expect(try store.run("info", "--json").json()["lastCheckpointError"] == nil)
    let opened = try Store(at: store.path, options: StoreOptions())
    opened.files.counters.publishMaintenanceResult(
      StorageError(.diskFull, "There is no space left.", errno: ENOSPC))
    let run = try store.run("info")
    #expect(
      run.output.contains("\ncheckpoint  the last checkpoint failed: diskFull, system error 28\n"))
    let document = try store.run("info", "--json").json()
    let error = try #require(document["lastCheckpointError"] as? [String: Any])
    #expect(error["kind"] as? String == "diskFull")
    #expect(error["errno"] as? Int == 28)
    // Closing the store runs a checkpoint. If the checkpoint succeeds, it removes the recorded
    // error.
    try opened.close()
    #expect(!(try store.run("info")).output.contains("\ncheckpoint "))
  }

  @Test func `change nothing`() throws {
    let store = try ToolStore()
    let before = try store.fixture.allBytes()
    for command in ["info", "keys", "dump", "stat", "generations", "verify"] {
      try store.run(command).expectFine()
    }
    try store.run("copy", store.path + "-copy").expectFine()
    #expect(try store.fixture.allBytes() == before)
    try store.expectSound()
  }

  @Test(.evidence("I15")) func `list other processes that have the store open`() throws {
    let store = try ToolStore()
    var options = StoreOptions()
    options.isReadOnly = true
    let other = try Store(at: store.path, options: options)
    let run = try store.run("info")
    let line = try #require(run.lines.first { $0.hasPrefix("open by    ") })
    #expect(line.hasPrefix("open by    \(getpid()) ") && line.hasSuffix(", reading"))
    let document = try store.run("info", "--json").json()
    #expect(document["isOpenElsewhere"] as? Bool == true)
    let opener = try #require((document["openBy"] as? [[String: Any]])?.first)
    #expect(opener["processID"] as? Int == Int(getpid()))
    #expect(opener["isReadOnly"] as? Bool == true)
    try StoreFixture.expectSound(other)
    try other.close()
  }

  /// A store with inline maintenance does not publish which process has it open.
  @Test func `report a process that cannot be identified`() throws {
    let store = try ToolStore()
    var options = StoreOptions()
    options.maintenance = .inline
    let other = try Store(at: store.path, options: options)
    let run = try store.run("info")
    #expect(run.output.contains("\nopen by    another process\n"))
    let held = try other.snapshot()
    #expect(try store.run("generations").output.contains("another process"))
    withExtendedLifetime(held) {}
    try StoreFixture.expectSound(other)
    try other.close()
  }

  @Test(.evidence("I15")) func `list the holders of a generation`() throws {
    let store = try ToolStore(keepsBefore: false)
    var options = StoreOptions()
    options.name = "im\u{1B}[31mporter \u{202E}ä"
    let other = try Store(at: store.path, options: options)
    let held = try other.snapshot()
    let name = "\(getpid()) im\u{FFFD}[31mporter \u{FFFD}ä"
    var run = try store.run("generations")
    // Wait, because the name is published with a delay.
    for _ in 0..<600 where !run.output.contains(name) {
      usleep(50_000)
      run = try store.run("generations")
    }
    run.expectFine()
    #expect(run.lines[2].hasPrefix("\(held.generation.frame)".leftPadded))
    #expect(run.lines[2].hasSuffix("  -      " + name), "\(run.output)")
    let document = try store.run("generations", "--json").json()
    let row = try #require((document["held"] as? [[String: Any]])?.first)
    let holder = try #require((row["holders"] as? [[String: Any]])?.first)
    #expect(holder["processID"] as? Int == Int(getpid()))
    #expect(holder["isReadOnly"] as? Bool == false)
    #expect(holder["ageMilliseconds"] is Int)
    let line = try #require(store.run("info").lines.first { $0.hasPrefix("open by    ") })
    #expect(line.hasPrefix("open by    \(name), for ") && line.hasSuffix(" s"))
    withExtendedLifetime(held) {}
    try StoreFixture.expectSound(other)
    try other.close()
  }

  @Test func `accept an empty store`() throws {
    let fixture = try StoreFixture.onDisk()
    try fixture.run { _ in }
    let words = [
      "info": "no keyspaces", "keys": "no keyspaces", "dump": "no keyspaces", "stat": "no pages",
      "generations": "No generation is held.", "verify": "intact: ",
    ]
    for (command, words) in words {
      let run = try ToolRun(command, fixture.path)
      run.expectFine()
      #expect(run.output.contains(words), "\(command)")
      _ = try ToolRun(command, fixture.path, "--json").json()
    }
    try fixture.run { _ in }
  }

  @Test func `list keyspaces and keys`() throws {
    let store = try ToolStore()
    let run = try store.run("keys")
    run.expectFine()
    #expect(
      run.lines == [
        "keyspace  entries", "-----------------", "large           2", "mixed           9",
        "numbers       500", "rings           2", "",
      ])
    #expect(try store.run("keys", "rings").output == "1871\n1872\n")
    #expect(try store.run("keys", "numbers", "--from", "498").output == "498\n499\n")
    #expect(try store.run("keys", "numbers", "--from=7", "--limit=2").output == "7\n8\n")
    let old = try store.run("keys", "--named", "before")
    #expect(old.lines.dropFirst(2) == ["numbers       500", "rings           2", ""])
    try store.run("keys", "rigs").expectComplaint(
      #"no keyspace named "rigs" in generation \#(store.newest.frame). Did you mean rings?"#,
      exitCode: 1)
    try store.expectSound()
  }

  @Test func `show every kind of key as it can be typed`() throws {
    let store = try ToolStore()
    let texts = ToolStore.mixedKeys.map(\.text)
    #expect(try store.run("keys", "mixed").lines == texts + [""])
    for (index, text) in texts.enumerated() {
      let run = try store.run("keys", "mixed", "--from", text)
      #expect(run.lines == Array(texts[index...]) + [""], "\(text)")
    }
    // A word without quotation marks is treated as a string.
    #expect(try store.run("keys", "mixed", "--from", "nc", "--limit", "1").lines[0] == texts[6])
    let document = try store.run("keys", "mixed", "--json").json()
    let keyspaces = try #require(document["keyspaces"] as? [[String: Any]])
    let entries = try #require(keyspaces.first?["entries"] as? [[String: Any]])
    #expect(entries.count == texts.count)
    for (entry, mixed) in zip(entries, ToolStore.mixedKeys) {
      let digits = mixed.key.bytes.map { String(format: "%02x", $0) }.joined()
      #expect(entry["keyBytes"] as? String == digits)
    }
    let pair = try #require(entries[6]["key"] as? [Any])
    #expect(pair[0] as? String == "nc")
    #expect(pair[1] as? Int == 5)
    try store.expectSound()
  }

  @Test func `show readable values as text`() throws {
    let store = try ToolStore()
    let run = try store.run("dump", "rings")
    run.expectFine()
    #expect(
      run.lines == [
        "rings (2 entries)", #"  1871   3 bytes  "dry""#, #"  1872  12 bytes  "frost\nin May""#, "",
      ])
    let old = try store.run("dump", "rings", "--at", "\(store.before.frame)")
    #expect(old.lines[2] == #"  1872  3 bytes  "wet""#)
    // Each line must be exactly as wide as the output, even if text is truncated within a
    // character.
    for line in try store.run("dump", "large").lines.dropFirst().dropLast() {
      #expect(line.count == 100)
      #expect(line.hasSuffix("…"))
      #expect(line.contains("0xfefefe") || line.contains("\"xäöüäöü"))
    }
    let complete = try store.run("dump", "large", "--full").output
    #expect(complete.contains("\"" + ToolStore.largeText + "\"\n"))
    #expect(complete.contains("0x" + String(repeating: "fe", count: 10_000) + "\n"))
    #expect(try store.run("dump").lines.filter { $0.hasSuffix("entries)") }.count == 4)
    try store.expectSound()
  }

  @Test func `show values as JSON`() throws {
    let store = try ToolStore()
    func entries(_ arguments: String...) throws -> [[String: Any]] {
      let run = try ToolRun(["dump", store.path] + arguments + ["--json"])
      run.expectFine()
      let keyspaces = try run.json()["keyspaces"] as? [[String: Any]]
      return try #require(keyspaces?.last?["entries"] as? [[String: Any]])
    }
    let rings = try entries()
    #expect(rings.map { $0["value"] as? String } == ["dry", "frost\nin May"])
    #expect(rings.map { $0["valueByteCount"] as? Int } == [3, 12])
    #expect(rings.map { $0["isCut"] as? Bool } == [false, false])
    let cut = try entries("large")
    #expect(cut.map { $0["isCut"] as? Bool } == [true, true])
    #expect(cut.first?["valueBytes"] as? String == String(repeating: "fe", count: 100))
    #expect(cut.last?["value"] as? String == String(ToolStore.largeText.prefix(50)))
    let complete = try entries("large", "--full")
    #expect(complete.map { $0["isCut"] as? Bool } == [false, false])
    #expect(complete.last?["value"] as? String == ToolStore.largeText)
    #expect(try entries("numbers", "--from", "9", "--limit", "0").isEmpty)
    try store.expectSound()
  }

  @Test func `list the held generations`() throws {
    let store = try ToolStore()
    let run = try store.run("generations")
    run.expectFine()
    #expect(run.lines[0].contains("generation  age "))
    let row = run.lines[2].split(separator: " ", omittingEmptySubsequences: true)
    #expect(row.first == "\(store.before.frame)")
    #expect(row.suffix(2) == ["\"before\"", "-"])
    #expect(run.output.contains("newest: generation \(store.newest.frame); "))
    let document = try store.run("generations", "--json").json()
    #expect(document["newestGeneration"] as? Int == Int(store.newest.frame))
    let held = try #require(document["held"] as? [[String: Any]])
    #expect(held.count == 1)
    #expect(held.first?["names"] as? [String] == ["before"])
    let cost = try #require(held.first?["retainedByteCount"] as? Int)
    try store.expectSound { opened throws in
      #expect(try opened.liveGenerations().first?.retainedByteCount == cost)
    }
    let other = try ToolStore(keepsBefore: false)
    #expect(try other.run("generations").lines[0] == "No generation is held.")
    try other.expectSound()
  }

  @Test func `verify a store`() throws {
    let store = try ToolStore()
    let run = try store.run("verify")
    run.expectFine()
    #expect(run.output.hasPrefix("intact: generation \(store.newest.frame), "))
    #expect(run.output.contains("4 keyspaces, 513 entries"))
    let document = try store.run("verify", "--json").json()
    #expect(document["isSound"] as? Bool == true)
    #expect(document["entryCount"] as? Int == 513)
    try store.expectSound()
  }

  @Test func `end silently when their output is closed`() throws {
    let store = try ToolStore()
    let process = Process()
    process.executableURL = try ToolRun.executable()
    process.arguments = ["dump", store.path, "large", "--full"]
    let output = Pipe()
    let complaint = Pipe()
    process.standardOutput = output
    process.standardError = complaint
    try output.fileHandleForReading.close()
    try process.start()
    try output.fileHandleForWriting.close()
    process.waitUntilExit()
    #expect(process.terminationReason == .exit)
    #expect(process.terminationStatus == 0)
    #expect(try complaint.fileHandleForReading.readToEnd() ?? Data() == Data())
    try store.expectSound()
  }
}

extension String {
  /// The text, padded on the left to the width of the column "generation".
  fileprivate var leftPadded: String { String(repeating: " ", count: max(0, 10 - count)) + self }
}
