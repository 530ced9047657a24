/// One or more commits that were read from the log in one step.
///
/// A step is a single commit, or all remaining commits that end in a segment, read from the
/// segment's footer.
package struct LogStep {
  /// The last commit of the step.
  package var point: CommitPoint
  /// A generation that is known to be durable.
  ///
  /// For a single commit, this is the largest watermark in its group headers. For a footer, this is
  /// the footer's last commit, because footers are written only for synced commits.
  package var durableWatermark: FrameNumber
  /// The page images, in log order, or in page order if they were read from a footer.
  ///
  /// If a page occurs twice, the later image is the valid one.
  package var images: [Image]
  /// If the commit starts a new lineage, the previous lineage and its last generation; otherwise
  /// `nil`.
  package var ended: EndedLineage?
  /// The number of commits in this step.
  package var commitCount = 1
  /// Whether the step was read from a footer instead of group headers.
  package var isFooter = false

  package struct Image {
    package let page: PageNumber
    package let frame: FrameNumber
    package let hash: UInt64
  }
}
