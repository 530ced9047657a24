/// A builder that creates a segment's footer from the commits that end in the segment.
///
/// The commits must be added in log order.
package struct SegmentFooterBuilder {
  package let segment: UInt64
  private let geometry: Geometry
  private var point = CommitPoint.empty
  private var commitCount = 0
  private var images: [LogStep.Image] = []

  package init(segment: UInt64, geometry: Geometry) {
    self.segment = segment
    self.geometry = geometry
  }

  /// Adds the next commit, but omits page images that are in earlier segments.
  package mutating func add(_ commit: LogStep) {
    point = commit.point
    commitCount += 1
    let first = geometry.firstFrame(of: segment)
    for image in commit.images where image.frame >= first { images.append(image) }
  }

  package var footer: SegmentFooter {
    let sorted = images.sorted { ($0.page, $0.frame) < ($1.page, $1.frame) }
    var rows: [SegmentFooter.Row] = []
    rows.reserveCapacity(sorted.count)
    for (position, image) in sorted.enumerated() {
      // The footer represents the combined result of its commits, so list only the last image of
      // each page.
      if position + 1 < sorted.count, sorted[position + 1].page == image.page { continue }
      rows.append(
        SegmentFooter.Row(
          page: image.page, slot: UInt32(geometry.slot(of: image.frame)), hash: image.hash))
    }
    return SegmentFooter(point: point, commitCount: commitCount, rows: rows)
  }
}
