import Synchronization

/// Allocates the temporary numbers of one tree of contexts.
///
/// All trees in a process allocate blocks from one counter, so no two trees produce the same
/// number. The counter starts at a random row ID, so a collision between two processes is very
/// unlikely.
struct TemporaryNumbers {
  private struct Block {
    var next: Int64 = 0
    var end: Int64 = 0
    var size = TemporaryNumbers.minBlockSize

    /// Allocates the next block of row IDs, twice as large as the one before.
    mutating func refill() {
      next = TemporaryNumbers.nextRow.wrappingAdd(size, ordering: .relaxed).oldValue
      end = next + size
      size = min(2 * size, TemporaryNumbers.maxBlockSize)
    }
  }

  // A context may insert only a few objects. Large blocks alone would exhaust the row IDs.
  private static let minBlockSize: Int64 = 64
  private static let maxBlockSize: Int64 = 65_536

  /// The first row ID that is not in any block.
  ///
  /// It starts in the lower half of all row IDs: numbers ascend in the order in which objects are
  /// inserted, and fetches sort new objects by them.
  private static let nextRow = Atomic<Int64>(Int64.random(in: 1...ObjectNumber.maxRow / 2))

  /// By the position of the entity in the schema.
  private var blocks: [Block] = []

  /// Returns a number that no object had before.
  ///
  /// - Parameters:
  ///   - entity: The number of the entity.
  /// The position of the entity in the schema.
  mutating func next(entity: Int, at position: Int) -> ObjectNumber {
    while blocks.count <= position { blocks.append(Block()) }
    if blocks[position].next == blocks[position].end { blocks[position].refill() }
    defer { blocks[position].next += 1 }
    return ObjectNumber(temporary: blocks[position].next & ObjectNumber.maxRow, entity: entity)
  }
}
