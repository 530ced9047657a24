package import HeartwoodEngine

extension PageIndex {
  /// The frames of all pages that have one in the log above `limit`.
  package func frames(newerThan limit: FrameNumber = 0) -> [PageNumber: FrameNumber] {
    var frames: [PageNumber: FrameNumber] = [:]
    forEach(newerThan: limit) { page, frame in frames[page] = frame }
    return frames
  }
}
