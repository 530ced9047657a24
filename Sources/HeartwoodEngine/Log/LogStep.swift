/// A commit found in the log.
package struct ScannedCommit {
  package var point: CommitPoint
  /// The first frame of its first group: the version of its rows.
  package var base: FrameNumber
  /// The largest durable watermark in its headers.
  package var witness: FrameNumber
  /// Its page images in log order; if a page occurs twice, the later image counts.
  package var images: [Image]
  /// Set if this commit starts a lineage: the previous lineage and its end.
  package var ended: EndedLineage?

  package struct Image {
    package let page: PageNumber
    package let frame: FrameNumber
    package let hash: UInt64
  }
}

/// The contents of a footer for the rest of a segment.
package struct ScannedSegment {
  /// The last commit that ends in the segment.
  package var point: CommitPoint
  /// The number of commits up to `point`.
  package var commitCount: Int
  /// The newest image of each page up to `point`, ascending by page.
  package var images: [ScannedCommit.Image]
}

/// One step of a walk over the log.
package enum LogStep {
  /// One commit, read from its group headers.
  case commit(ScannedCommit)
  /// All further commits that end in a segment, read from its footer.
  case segment(ScannedSegment)

  /// The last commit of the step.
  package var point: CommitPoint {
    switch self {
    case .commit(let commit): commit.point
    case .segment(let segment): segment.point
    }
  }

  /// The page images of the step; if a page occurs twice, the later image counts.
  package var images: [ScannedCommit.Image] {
    switch self {
    case .commit(let commit): commit.images
    case .segment(let segment): segment.images
    }
  }

  /// A generation known to be durable: footers are written for synced commits only.
  package var witness: FrameNumber {
    switch self {
    case .commit(let commit): commit.witness
    case .segment(let segment): segment.point.frame
    }
  }
}
