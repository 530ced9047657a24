import Foundation
import HeartwoodEngine
import HeartwoodTestSupport
import Testing

@Suite("Stores that are destroyed, moved or replaced")
struct StoreReplacementTests {
  private let scratch: ScratchDirectory
  private var first: String { scratch.path(of: "first") }
  private var second: String { scratch.path(of: "second") }

  init() throws {
    scratch = try ScratchDirectory()
    try make(first, 1)
    try make(second, 2)
  }

  private func make(_ path: String, _ value: UInt8) throws {
    let store = try Store(at: path)
    try store.write { try $0.keyspace("k").put(1, [value]) }
    try store.close()
  }

  private func value(_ path: String) throws -> [UInt8]? {
    let store = try Store(at: path)
    defer { try? store.close() }
    try StoreFixture.expectSound(store)
    return try store.snapshot().keyspace("k")?.get(1)
  }

  private var names: [String] {
    get throws { try PosixFileSystem().list(scratch.path)?.sorted() ?? [] }
  }

  private func expect(_ kind: StorageError.Kind, _ body: () throws -> Void) throws {
    let before = try names
    let error = #expect(throws: StorageError.self) { try body() }
    #expect(error?.kind == kind)
    #expect(try names == before)
    if before.contains("first") { #expect(try value(first) == [1]) }
    if before.contains("second") { #expect(try value(second) == [2]) }
  }

  @Test(.evidence("D19")) func `destroying removes the directory`() throws {
    try Store.destroy(at: first + "/")
    #expect(try names == ["second"])
    try Store.destroy(at: first)
    try make(first, 3)
    #expect(try value(first) == [3])
  }

  @Test(.evidence("D19")) func `moving keeps the store`() throws {
    let store = try Store(at: first)
    let token = try store.snapshot().token
    try store.keep(store.snapshot().generation, as: "old")
    try store.close()
    try Store.move(from: first, to: scratch.path(of: "third"))
    #expect(try names == ["second", "third"])
    let moved = try Store(at: scratch.path(of: "third"))
    #expect(try moved.snapshot(at: token).keyspace("k")?.get(1) == [1])
    try moved.close()
    try expect(.invalidArgument) { try Store.move(from: second, to: scratch.path(of: "third")) }
    try expect(.notAStore) { try Store.move(from: first, to: scratch.path(of: "fourth")) }
    try expect(.io) { try Store.move(from: second, to: scratch.path(of: "none/fourth")) }
  }

  @Test(.evidence("D19")) func `replacing leaves the new store only`() throws {
    try Store.replace(at: first, with: second)
    #expect(try names == ["first"])
    #expect(try value(first) == [2])
    try make(second, 3)
    try Store.replace(at: scratch.path(of: "third"), with: second)
    #expect(try names == ["first", "third"])
    #expect(try value(scratch.path(of: "third")) == [3])
  }

  @Test(.mustEnd, .evidence("D18"))
  func `a store that is being moved cannot be opened for reading`() throws {
    let locks = StoreLocks(
      file: try #require(try PosixFileSystem().open(first + "/locks", .write)))
    #expect(try locks.tryLock(.exclusive, byte: LockByte.presenceReadOnly))
    var options = StoreOptions()
    options.isReadOnly = true
    options.busyTimeout = .milliseconds(20)
    let error = #expect(throws: StorageError.self) { _ = try Store(at: first, options: options) }
    #expect(error?.kind == .busy)
  }

  @Test(.evidence("D19"), arguments: [false, true])
  func `an interrupted replacement is undone through a link`(isAbsolute: Bool) throws {
    let link = scratch.path(of: "link")
    try FileManager.default.createSymbolicLink(
      atPath: link, withDestinationPath: isAbsolute ? first : "first")
    try FileManager.default.moveItem(atPath: first, toPath: first + ".heartwood-replaced")
    #expect(try value(link) == [1])
    #expect(try names == ["first", "link", "second"])
  }

  @Test(.evidence("D18"), arguments: [false, true])
  func `an open store is left as it is`(isReadOnly: Bool) throws {
    var options = StoreOptions()
    options.isReadOnly = isReadOnly
    for path in [first, second] {
      let store = try Store(at: path, options: options)
      try expect(.busy) { try Store.replace(at: first, with: second, busyTimeout: .zero) }
      try expect(.busy) {
        try Store.move(from: path, to: scratch.path(of: "third"), busyTimeout: .zero)
      }
      try expect(.busy) { try Store.destroy(at: path, busyTimeout: .milliseconds(20)) }
      try store.close()
    }
    // A directory that contains other files is not removed.
    let stranger = first + "/notes"
    _ = try PosixFileSystem().create(stranger)
    try expect(.notAStore) { try Store.destroy(at: first) }
    try expect(.notAStore) { try Store.replace(at: first, with: second) }
    try expect(.notAStore) { try Store.move(from: first, to: scratch.path(of: "third")) }
    try PosixFileSystem().remove(stranger)
    try expect(.notAStore) { try Store.replace(at: first, with: scratch.path(of: "none")) }
    try expect(.busy) { try Store.replace(at: first, with: first, busyTimeout: .zero) }
    try Store.replace(at: first, with: second)
  }

  @Test(.evidence("D19"), arguments: [[], ["map", "kept"], ["wal-left", "wal-right"]])
  func `a directory without a store is not removed`(files: [String]) throws {
    let path = scratch.path(of: "other")
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    for name in files { _ = try PosixFileSystem().create(path + "/" + name) }
    if files.isEmpty {
      try Store.destroy(at: path)
    } else {
      try expect(.notAStore) { try Store.destroy(at: path) }
      try expect(.notAStore) { try Store.replace(at: path, with: second) }
    }
    #expect(try PosixFileSystem().list(path)?.sorted() == files.sorted())
    if files.isEmpty { try Store.replace(at: path, with: second) }
  }

  @Test(.evidence("D19")) func `a link is followed to the store itself`() throws {
    let link = scratch.path(of: "link")
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: first)
    try Store.replace(at: link, with: second)
    #expect(try names == ["first", "link"])
    #expect(try value(first) == [2] && value(link) == [2])
    try Store.move(from: link, to: second)
    #expect(try names == ["link", "second"])
    try FileManager.default.removeItem(atPath: link)
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: second)
    try Store.destroy(at: link)
    #expect(try names == ["link"])
  }

  @Test(.evidence("D19"))
  func `an interrupted replacement is undone once renaming succeeds`() throws {
    let disk = SimulatedDisk(seed: 1)
    let options = StoreFixture.on(disk).options
    let old = try Store(at: "/store.heartwood-replaced", options: options, fileSystem: disk)
    try old.write { try $0.keyspace("k").put(1, [1]) }
    try old.close()
    disk.faultPlan = .failure(.io, atCall: disk.callCount + 1)
    let error = #expect(throws: StorageError.self) {
      try Store(at: "/store", options: options, fileSystem: disk)
    }
    #expect(error?.kind == .io)
    // The next process renames the store, but cannot sync the directory immediately afterwards.
    let call = disk.callCount + 2
    disk.faultPlan = .failure(.io, atCall: call)
    let store = try Store(at: "/store", options: options, fileSystem: disk)
    #expect(disk.calls[call - 1] == .syncDirectory)
    #expect(disk.isNameDurable("/store"))
    #expect(try store.snapshot().keyspace("k")?.get(1) == [1])
    try StoreFixture.expectSound(store)
    try store.close()
  }
}
