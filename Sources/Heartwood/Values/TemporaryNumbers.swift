import Synchronization

/// An allocator of temporary numbers for one tree of contexts.
///
/// All trees in a process allocate blocks from the same counter, so that no two trees produce the
/// same number. The counter starts at a random row ID, so that collisions between processes are
/// very unlikely.
struct TemporaryNumbers {
  private struct Block {
    var next: Int64 = 0
    var end: Int64 = 0
    var size = TemporaryNumbers.minBlockSize

    /// Allocates the next block of row IDs.
    ///
    /// Each block is twice as large as the previous block, up to a limit.
    mutating func refill() {
      next = TemporaryNumbers.nextRow.wrappingAdd(size, ordering: .relaxed).oldValue
      end = next + size
      size = min(2 * size, TemporaryNumbers.maxBlockSize)
    }
  }

  // Keep the first block small, because most contexts insert few objects and would leave most row
  // IDs of a large block unused.
  private static let minBlockSize: Int64 = 64
  private static let maxBlockSize: Int64 = 65_536

  /// The first row ID that is not yet part of a block.
  ///
  /// The counter starts in the lower half of the range of row IDs, so it never wraps around.
  /// Numbers must ascend in insertion order, because fetches sort new objects by number.
  private static let nextRow = Atomic<Int64>(Int64.random(in: 1...ObjectNumber.maxRow / 2))

  /// The current block of each entity, indexed by the entity's position in the schema.
  private var blocks: [Block] = []

  /// Returns a temporary number that has not been used before.
  ///
  /// - Parameters:
  ///   - entity: The number of the entity.
  ///   - position: The position of the entity in the schema.
  mutating func next(entity: Int, at position: Int) -> ObjectNumber {
    while blocks.count <= position { blocks.append(Block()) }
    if blocks[position].next == blocks[position].end { blocks[position].refill() }
    defer { blocks[position].next += 1 }
    return ObjectNumber(temporary: blocks[position].next & ObjectNumber.maxRow, entity: entity)
  }
}
