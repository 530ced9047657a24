/// A live generation with its state, reference count and lock.
///
/// The lock of the `GenerationTable` guards the fields of the entry. The lock on the generation
/// itself is a lock byte, which other processes can check.
package final class LiveEntry: @unchecked Sendable {
  // `@unchecked` is safe because all fields except the constant `generation` are accessed under the
  // table's lock.
  package let generation: FrameNumber
  var state: GenerationState
  var references = 0
  var wasUsed = true
  /// A Boolean value that indicates whether a suspension has released the generation.
  ///
  /// A suspension ends all snapshots of the generation.
  var isOver = false

  init(_ state: GenerationState) {
    generation = state.generation
    self.state = state
  }
}

/// A reference to a live generation, and the state used to read that generation.
package struct Pin: Sendable {
  package let entry: LiveEntry
  package let state: GenerationState
}
