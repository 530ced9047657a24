/// A walk through an array again and again, a turn at a time.
struct Walk {
  /// How many elements a turn takes.
  var step: Int
  private let count: Int
  private var position: Int

  init(through count: Int, from position: Int = 0, step: Int = 1024) {
    self.step = step
    self.count = count
    self.position = position
  }

  /// Turns that are one pass at least.
  var turnCount: Int { (count + step - 1) / step }

  /// The next elements, up to the end of the array.
  mutating func next() -> Range<Int> {
    let start = position
    let end = min(start + step, count)
    position = end == count ? 0 : end
    return start..<end
  }
}
