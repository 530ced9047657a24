/// A step in reading the log.
///
/// A step contains either a single commit or, if the scanner read a segment's footer, all remaining
/// commits that end in that segment.
package struct LogStep {
  package var point: CommitPoint
  /// The newest generation that this step proves to be durable.
  ///
  /// If the step comes from a footer, this is the generation of the footer's last commit, because
  /// footers are written only for synced commits.
  package var durableWatermark: FrameNumber
  /// The page images in log order, or in page order if they come from a footer.
  ///
  /// If a page occurs more than once, the last image takes precedence.
  package var images: [Image]
  /// The previous lineage if the commit starts a new one, or `nil` otherwise.
  package var ended: EndedLineage?
  package var commitCount = 1
  package var isFooter = false

  package struct Image {
    package let page: PageNumber
    package let frame: FrameNumber
    package let hash: UInt64
  }
}
