package import HeartwoodEngine

extension PageIndex {
  /// Returns the newest frame of each page for which the index has a frame above `limit`.
  package func frames(newerThan limit: FrameNumber = 0) -> [PageNumber: FrameNumber] {
    var frames: [PageNumber: FrameNumber] = [:]
    forEach(newerThan: limit) { page, frame in frames[page] = frame }
    return frames
  }
}
