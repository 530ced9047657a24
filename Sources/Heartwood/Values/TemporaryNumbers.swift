import Synchronization

/// Hands out the temporary numbers of one tree of contexts.
///
/// All trees of a process take their numbers from one counter, in blocks, so no two of them make
/// the same number. The counter starts at a random row, so two processes practically never do.
struct TemporaryNumbers {
  private struct Block {
    var next: Int64 = 0
    var end: Int64 = 0
    var size = TemporaryNumbers.leastBlock

    /// Takes the next rows of the process, twice as many as the time before.
    mutating func refill() {
      next = TemporaryNumbers.nextRow.wrappingAdd(size, ordering: .relaxed).oldValue
      end = next + size
      size = min(2 * size, TemporaryNumbers.mostBlock)
    }
  }

  // Many contexts insert few objects: with large blocks only, they would use up the rows.
  private static let leastBlock: Int64 = 64
  private static let mostBlock: Int64 = 65_536

  /// The first row that belongs to no block.
  ///
  /// It starts in the lower half of all rows: numbers ascend in the order in which objects are
  /// inserted, and fetches sort new objects by them.
  private static let nextRow = Atomic<Int64>(Int64.random(in: 1...ObjectNumber.maxRow / 2))

  /// By the position of the entity in the schema.
  private var blocks: [Block] = []

  /// Returns a number that no object had before.
  ///
  /// - Parameters:
  ///   - entity: The number of the entity.
  ///   - position: Its position in the schema.
  mutating func next(entity: Int, at position: Int) -> ObjectNumber {
    while blocks.count <= position { blocks.append(Block()) }
    if blocks[position].next == blocks[position].end { blocks[position].refill() }
    defer { blocks[position].next += 1 }
    return ObjectNumber(temporary: blocks[position].next & ObjectNumber.maxRow, entity: entity)
  }
}
