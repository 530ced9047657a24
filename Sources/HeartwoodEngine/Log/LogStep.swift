/// A commit found in the log.
package struct ScannedCommit {
  package var point: CommitPoint
  /// The frame its first group starts at: the version of its rows.
  package var base: FrameNumber
  /// The largest witness its headers carry.
  package var witness: FrameNumber
  /// Its page images in log order; when a page comes twice, the later one counts.
  package var images: [Image]
  /// Set when this commit starts a lineage: the one before it and where that ended.
  package var ended: EndedLineage?

  package struct Image {
    package let page: PageNumber
    package let frame: FrameNumber
    package let hash: UInt64
  }
}

/// What a footer says about the rest of a segment.
package struct ScannedSegment {
  /// The last commit that ends in the segment.
  package var point: CommitPoint
  /// Commits on the way there.
  package var commitCount: Int
  /// The newest image of each page on the way there, ascending by page.
  package var images: [ScannedCommit.Image]
}

/// One step of a walk over the log.
package enum LogStep {
  /// One commit, read from its group headers.
  case commit(ScannedCommit)
  /// All further commits that end in a segment, read from its footer.
  case segment(ScannedSegment)

  /// Where the step leads.
  package var point: CommitPoint {
    switch self {
    case .commit(let commit): commit.point
    case .segment(let segment): segment.point
    }
  }

  /// Page images on the way there; when a page comes twice, the later one counts.
  package var images: [ScannedCommit.Image] {
    switch self {
    case .commit(let commit): commit.images
    case .segment(let segment): segment.images
    }
  }

  /// A generation known to be durable: a footer is written for synced commits only.
  package var witness: FrameNumber {
    switch self {
    case .commit(let commit): commit.witness
    case .segment(let segment): segment.point.frame
    }
  }
}
