/// Repeated passes over an array, divided into turns.
struct Walk {
  /// The number of elements in a turn.
  var step: Int
  private let count: Int
  private var position: Int

  init(through count: Int, from position: Int = 0, step: Int = 1024) {
    self.step = step
    self.count = count
    self.position = position
  }

  /// The number of turns in one complete pass.
  var turnCount: Int { (count + step - 1) / step }

  /// Returns the range of the next `step` elements, or of fewer elements at the end of the array.
  mutating func next() -> Range<Int> {
    let start = position
    let end = min(start + step, count)
    position = end == count ? 0 : end
    return start..<end
  }
}
