/// One step of a walk over the log: a commit, or the rest of the commits that end in a segment,
/// read from its footer.
package struct LogStep {
  /// The last commit of the step.
  package var point: CommitPoint
  /// A generation known to be durable: the largest watermark in the headers of the commit, or the
  /// last commit of a footer, since those are written for synced commits only.
  package var durableWatermark: FrameNumber
  /// The page images in log order, or by page; if a page occurs twice, the later image counts.
  package var images: [Image]
  /// Set if the commit starts a lineage: the previous lineage and its end.
  package var ended: EndedLineage?
  /// The number of commits up to `point`.
  package var commitCount = 1
  /// Whether a footer was read instead of group headers.
  package var isFooter = false

  package struct Image {
    package let page: PageNumber
    package let frame: FrameNumber
    package let hash: UInt64
  }
}
