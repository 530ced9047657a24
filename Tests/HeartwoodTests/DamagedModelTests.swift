import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

@Suite("A damaged model in a store")
struct DamagedModelTests {
  /// Makes a store, changes a value of its model, and opens it again.
  private func open(_ key: String, _ change: (inout [UInt8]) -> Void) throws {
    let directory = try ScratchDirectory()
    let url = URL(filePath: directory.path(of: "store"))
    do {
      let container = try PersistentContainer(url: url, schema: people)
      let context = container.newContext()
      Person(context: context).name = "Ada"
      try context.save()
      try container.store.close()
    }
    do {
      let store = try Store(at: url.path(percentEncoded: false))
      try store.write { transaction in
        let model = try transaction.keyspace("heartwood.model")
        var bytes = try #require(try model.get(key))
        change(&bytes)
        try model.put(key, bytes)
      }
      try store.close()
    }
    let container = try PersistentContainer(url: url, schema: people)
    let context = container.newContext()
    for person in try context.fetch(FetchRequest<Person>()) { _ = person.cars.count }
    try context.save()
    try container.store.close()
  }

  @Test(.evidence("M-06")) func `is refused where it says nothing, or one thing twice`() throws {
    func replacing(_ text: String, _ other: String) -> (inout [UInt8]) -> Void {
      { bytes in
        let json = String(decoding: bytes, as: UTF8.self).replacing(text, with: other)
        bytes = Array(json.utf8)
      }
    }
    let changes: [(String, (inout [UInt8]) -> Void)] = [
      ("model", { $0 = [] }), ("model", { $0 = Array("{}".utf8) }),
      ("model", { $0.removeLast() }), ("store", { $0 = [1, 2, 3] }),
      ("model", replacing(#""name":"Car""#, #""name":"Person""#)),
    ]
    for (key, change) in changes {
      let error = #expect(throws: StorageError.self) { try open(key, change) }
      #expect(error?.kind == .corrupt)
    }
  }

  @Test(.evidence("M-06"), arguments: 1...40 as ClosedRange<UInt64>)
  func `never traps, whichever number in it is another`(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    do {
      try open("model") { bytes in
        let digits = bytes.indices.filter { (48...57).contains(bytes[$0]) }
        bytes[digits[generator.below(digits.count)]] = UInt8(48 + generator.below(10))
      }
    } catch is StorageError {
    } catch is ObjectGraphError {
    }
  }
}
