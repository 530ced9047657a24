import HeartwoodEngine
import HeartwoodTestSupport
import Testing

@Suite("A tree cursor")
struct TreeCursorTests {
  /// Returns a random tree and its sorted keys.
  private func makeTree(
    _ shape: TreeModel.KeyShape, _ seed: UInt64, count: Int
  ) throws -> (TreeFixture, [[UInt8]]) {
    var random = SeededGenerator(seed: seed)
    let fixture = try TreeFixture(pageByteCount: 4096)
    var model = TreeModel()
    for _ in 0..<count {
      let key = shape.key(&random)
      model.rows[key] = [UInt8(truncatingIfNeeded: key.count)]
      _ = try fixture.put(key, [UInt8(truncatingIfNeeded: key.count)])
    }
    return (fixture, model.sortedKeys)
  }

  @Test(arguments: TreeModel.KeyShape.allCases, TestScale.some([UInt64(11), 12]))
  func `moves through all keys in both directions`(
    _ shape: TreeModel.KeyShape, _ seed: UInt64
  ) throws {
    let (fixture, keys) = try makeTree(shape, seed, count: 800)
    for savesKey in [false, true] {
      let cursor = fixture.cursor(savesKey: savesKey)
      var seen: [[UInt8]] = []
      var isAtRow = try cursor.moveToFirst()
      while isAtRow {
        seen.append(cursor.key.copied())
        isAtRow = try cursor.moveToNext()
      }
      #expect(seen == keys)
      #expect(!cursor.isValid)
      seen = []
      isAtRow = try cursor.moveToLast()
      while isAtRow {
        seen.append(cursor.key.copied())
        isAtRow = try cursor.moveToPrevious()
      }
      #expect(seen == keys.reversed())
    }
    #expect(fixture.pinnedCount == 0)
  }

  @Test(arguments: TreeModel.KeyShape.allCases, TestScale.some([UInt64(21), 22]))
  func `seeks like a binary search in a sorted array`(
    _ shape: TreeModel.KeyShape, _ seed: UInt64
  ) throws {
    let (fixture, keys) = try makeTree(shape, seed, count: 500)
    var random = SeededGenerator(seed: seed)
    let cursor = fixture.cursor()
    for step in 0..<300 {
      var sought =
        step % 2 == 0 ? shape.key(&random) : keys[Int(random.next() % UInt64(keys.count))]
      if step % 6 == 0, !sought.isEmpty { sought.removeLast() }
      let index = keys.firstIndex { !$0.precedes(sought) } ?? keys.count
      let isAtRow = try sought.withSearchKey { key throws(StorageError) in try cursor.seek(key) }
      #expect(isAtRow == (index < keys.count))
      if isAtRow {
        #expect(cursor.key.copied() == keys[index])
        #expect(try cursor.moveToPrevious() == (index > 0))
        if index > 0 { #expect(cursor.key.copied() == keys[index - 1]) }
      }
      let isBefore = try sought.withSearchKey { key throws(StorageError) in
        try cursor.seekBefore(key)
      }
      #expect(isBefore == (index > 0))
      if isBefore {
        #expect(cursor.key.copied() == keys[index - 1])
        #expect(try cursor.moveToNext() == (index < keys.count))
        if index < keys.count { #expect(cursor.key.copied() == keys[index]) }
      }
    }
    withExtendedLifetime((fixture, cursor)) {}
  }

  @Test func `has no position in an empty tree`() throws {
    let fixture = try TreeFixture(pageByteCount: 4096)
    for savesKey in [false, true] {
      let cursor = fixture.cursor(savesKey: savesKey)
      #expect(try !cursor.moveToFirst())
      #expect(try !cursor.moveToLast())
      #expect(try !cursor.moveToNext())
      #expect(try !cursor.moveToPrevious())
      #expect(try cursor.hasValue() == false)
    }
    withExtendedLifetime(fixture) {}
  }

  @Test(arguments: TestScale.some([UInt64(1), 2, 3, 4]))
  func `continues from its key when the tree changes`(_ seed: UInt64) throws {
    var (fixture, keys) = try makeTree(.mixedPrefixes, seed, count: 500)
    var random = SeededGenerator(seed: seed)
    let cursor = fixture.cursor(savesKey: true)
    var isAtRow = try cursor.moveToFirst()
    var current = keys.first
    for step in 0..<1500 {
      if random.next() % 3 == 0 {
        // Make about half of the changes at the cursor's position.
        let random = TreeModel.KeyShape.mixedPrefixes.key(&random)
        let key = step % 2 == 0 ? current ?? random : random
        if let index = keys.firstIndex(of: key) {
          #expect(try fixture.delete(key))
          keys.remove(at: index)
          if key == current { #expect(try cursor.hasValue() == false) }
        } else {
          #expect(try fixture.put(key, [7]))
          let index = keys.firstIndex { key.precedes($0) } ?? keys.count
          keys.insert(key, at: index)
        }
        if isAtRow { #expect(cursor.key.copied() == current) }
      }
      if !isAtRow {
        isAtRow = try step % 2 == 0 ? cursor.moveToFirst() : cursor.moveToLast()
        current = step % 2 == 0 ? keys.first : keys.last
      } else if let key = current, step / 350 % 2 == 0 {
        isAtRow = try cursor.moveToNext()
        current = keys.first { key.precedes($0) }
      } else if let key = current {
        isAtRow = try cursor.moveToPrevious()
        current = keys.last { $0.precedes(key) }
      }
      #expect(isAtRow == (current != nil))
      if isAtRow {
        #expect(cursor.key.copied() == current)
        #expect(try cursor.hasValue())
      }
    }
    withExtendedLifetime((fixture, cursor)) {}
  }
}

extension TreeCursor {
  fileprivate func hasValue() throws -> Bool { try value().map { _ in true } ?? false }
}
