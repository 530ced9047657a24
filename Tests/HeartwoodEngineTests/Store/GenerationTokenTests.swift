import Foundation
import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Tests the use of generation tokens in another opening of the store.
@Suite("A token of a generation")
struct GenerationTokenTests {
  private func put(_ value: UInt8, _ store: Store) throws {
    try store.write { try $0.keyspace("rows").put(1, [value]) }
  }

  private func value(_ snapshot: Snapshot) throws -> [UInt8]? {
    try snapshot.keyspace("rows")?.get(1)
  }

  private func kind<R>(_ body: () throws -> R) -> StorageError.Kind? {
    do { _ = try body() } catch { return (error as? StorageError)?.kind }
    return nil
  }

  @Test(.evidence("I17")) func `is the same wherever the state was found`() throws {
    let fixture = try StoreFixture.onDisk()
    var tokens: [GenerationToken] = []
    try fixture.run { store in
      var held: [Snapshot] = []
      for number in UInt8(0)..<40 {
        try put(number, store)
        held.append(try store.snapshot())
        if number % 9 == 3 { try store.checkpoint() }
      }
      tokens = held.map(\.token)
      // The other process finds some of these generations in the log, and the rest in the map or in
      // the page file.
      try fixture.elsewhere().run { other in
        for (number, token) in tokens.enumerated() {
          let snapshot = try other.snapshot(at: token)
          #expect(try value(snapshot) == [UInt8(number)])
          #expect(snapshot.token == token)
        }
      }
      try store.keep(tokens[7].generation, as: "seven")
    }
    try fixture.run { store in
      let kept = try store.snapshot(at: tokens[7])
      #expect(try value(kept) == [7] && kept.token == tokens[7])
      #expect(kind { try store.snapshot(at: tokens[8]) } == .generationExpired)
    }
  }

  @Test(.evidence("I17")) func `is rejected by another store`() throws {
    let (one, other) = (try StoreFixture.onDisk(), try StoreFixture.onDisk())
    let token = try one.run { store in
      try put(1, store)
      return try store.snapshot().token
    }
    let found = try other.run { store in
      try put(1, store)
      return kind { try store.snapshot(at: token) }
    }
    #expect(found == .foreignStore)
  }

  /// Every part of the token is valid except the store identity.
  @Test(.evidence("I17")) func `is rejected if only the store identity differs`() throws {
    try StoreFixture.inMemory().run { store in
      try put(1, store)
      let own = try store.snapshot().token.description
      var words = own.split(separator: ".").map(String.init)
      words[1] = words[1] == "1" ? "2" : "1"
      let token = try #require(GenerationToken(words.joined(separator: ".")))
      #expect(kind { try store.snapshot(at: token) } == .foreignStore)
    }
  }

  @Test(.evidence("I17")) func `is rejected by a copy that has diverged`() throws {
    let fixture = try StoreFixture.onDisk()
    try fixture.run { try put(1, $0) }
    let files = try fixture.allBytes()
    let copy = try StoreFixture.onDisk()
    for (name, bytes) in files { try copy.write(bytes, to: name) }
    // Remove the counters, so that this store and its copy both continue as after a restart.
    try fixture.fileSystem.remove(fixture.path(of: "counters"))
    let token = try fixture.run { store in
      for number in UInt8(2)..<5 { try put(number, store) }
      return try store.snapshot().token
    }
    let found = try copy.run { store in
      for number in UInt8(2)..<5 { try put(number, store) }
      // This generation has the same position in the log as the token's generation, but different
      // contents.
      let generation = try store.snapshot().generation
      #expect(generation == token.generation)
      return kind { try store.snapshot(at: token) }
    }
    #expect(found == .foreignStore)
  }

  @Test func `round-trips through its text`() throws {
    try StoreFixture.inMemory().run { store in
      try put(1, store)
      let token = try store.snapshot().token
      #expect(GenerationToken(token.description) == token)
      #expect(!token.description.contains(" "))
      let data = try JSONEncoder().encode([token])
      #expect(try JSONDecoder().decode([GenerationToken].self, from: data) == [token])
      let others = [
        "", "1.2.3.4", "1.2.3.4.x", "g.2.3.4.5", "1.2.3.4.5.6", "1..3.4.5", "1.2.3.4.-5",
      ]
      for text in others {
        #expect(GenerationToken(text) == nil, "\(text)")
      }
      #expect(throws: DecodingError.self) {
        try JSONDecoder().decode(GenerationToken.self, from: Data(#""1.2""#.utf8))
      }
    }
  }
}
