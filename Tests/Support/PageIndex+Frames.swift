package import HeartwoodEngine

extension PageIndex {
  /// Returns the frame of every page that the index maps to a frame above `limit`.
  package func frames(newerThan limit: FrameNumber = 0) -> [PageNumber: FrameNumber] {
    var frames: [PageNumber: FrameNumber] = [:]
    forEach(newerThan: limit) { page, frame in frames[page] = frame }
    return frames
  }
}
