/// One live generation in this process: its state, its references, its lock.
///
/// Guarded by the lock of the table it belongs to.
package final class LiveEntry: @unchecked Sendable {
  // @unchecked because every field but the constant one is read and written under the table's lock.
  package let generation: FrameNumber
  var state: GenerationState
  var references = 1
  var wasUsed = true
  /// Whether its generation was given up, and with it all snapshots that show it.
  var isOver = false

  init(_ state: GenerationState) {
    generation = state.generation
    self.state = state
  }
}

/// A reference to a live generation, and the state to read it through.
package struct Pin: Sendable {
  package let entry: LiveEntry
  package let state: GenerationState
}
