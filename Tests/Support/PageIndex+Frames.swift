package import HeartwoodEngine

extension PageIndex {
  /// Returns the newest frame of each page whose frame in the index is above `limit`.
  package func frames(newerThan limit: FrameNumber = 0) -> [PageNumber: FrameNumber] {
    var frames: [PageNumber: FrameNumber] = [:]
    forEach(newerThan: limit) { page, frame in frames[page] = frame }
    return frames
  }
}
