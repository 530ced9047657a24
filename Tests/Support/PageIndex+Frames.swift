package import HeartwoodEngine

extension PageIndex {
  /// The frame of every page that has one in the log behind `limit`.
  package func frames(newerThan limit: FrameNumber = 0) -> [PageNumber: FrameNumber] {
    var frames: [PageNumber: FrameNumber] = [:]
    forEach(newerThan: limit) { page, frame in frames[page] = frame }
    return frames
  }
}
