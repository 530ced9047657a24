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

/// Reads the log from one commit to the next, and stops at the first one that is not whole.
///
/// A commit is accepted by its headers: each verifies by itself, stands where it says, continues
/// the chain of digests, and belongs to one transaction whose last group carries the commit mark.
/// Page images are verified by ``verifyImages(of:)``, which recovery asks for above the witness and
/// nobody below it: those were synced, and damage there surfaces when they are read.
package struct LogScanner {
  package let table: SegmentTable
  package let geometry: Geometry
  package let seed: UInt64
  /// The last commit accepted; the next one is looked for behind it.
  package private(set) var point: CommitPoint
  private let block: ByteBlock
  /// Segments whose first frame is a header of its own transaction, by the digest it continues.
  private var starts: [UInt64: [FrameNumber]] = [:]

  /// Prepares to read behind `point`.
  ///
  /// - Complexity: One page read for each segment.
  package init(
    table: SegmentTable, geometry: Geometry, seed: UInt64, from point: CommitPoint
  ) throws(StorageError) {
    self.table = table
    self.geometry = geometry
    self.seed = seed
    self.point = point
    block = ByteBlock(count: geometry.pageByteCount)
    for segment in table.segments {
      let frame = geometry.firstFrame(of: segment.number)
      guard let found = try header(at: frame), found.header.base == frame else { continue }
      starts[found.header.previous, default: []].append(frame)
    }
  }

  /// The frame the next commit of this lineage would start at.
  package var nextFrame: FrameNumber { geometry.next(after: point.frame) }

  /// The next commit, or `nil` where the log ends.
  ///
  /// A lineage that starts in a later segment with our digest goes first: it was begun by a
  /// recovery that judged what continues in place as not whole. Later witnesses count that place as
  /// synced, so its images are not looked at again, and it would pass by its headers alone.
  package mutating func next() throws(StorageError) -> ScannedCommit? {
    var found: ScannedCommit?
    for start in starts[point.digest] ?? [] where start >= nextFrame {
      found = try commit(at: start)
      if found?.ended != nil { break }
    }
    if found?.ended == nil { found = try commit(at: nextFrame) }
    if let found { point = found.point }
    return found
  }

  /// Whether every image of the commit is the one its header names.
  package func verifyImages(of commit: ScannedCommit) throws(StorageError) -> Bool {
    for image in commit.images {
      guard try read(image.frame),
        block.bytes.bytes.load64(PageLayout.hash.offset) == image.hash,
        block.bytes.bytes.load64(PageLayout.frame.offset) == image.frame,
        block.bytes.bytes.load32(PageLayout.page.offset) == image.page,
        PageChecks.hash(block.bytes.bytes, seed: seed) == image.hash
      else { return false }
    }
    return true
  }

  /// The header that verifies by itself at `frame`, if there is one.
  package func header(
    at frame: FrameNumber
  ) throws(StorageError) -> (header: GroupHeader, digest: UInt64)? {
    guard try read(frame) else { return nil }
    return GroupHeader.decode(block.bytes.bytes, at: frame, seed: seed)
  }

  /// Fills the block with a frame; false if the frame is not there in full.
  private func read(_ frame: FrameNumber) throws(StorageError) -> Bool {
    guard let segment = table[geometry.segment(of: frame)] else { return false }
    return try segment.file.read(into: block.bytes, at: geometry.offset(of: frame))
      == geometry.pageByteCount
  }

  /// The whole transaction that starts at `start` and continues the chain, or `nil`.
  private func commit(at start: FrameNumber) throws(StorageError) -> ScannedCommit? {
    guard let first = try header(at: start), first.header.previous == point.digest,
      first.header.ordinal == 0, first.header.base == start
    else { return nil }
    let isJump = first.header.lineage != point.lineage
    guard !isJump || geometry.slot(of: start) == 1 else { return nil }
    var images: [ScannedCommit.Image] = []
    var voids: [VoidRange] = []
    var witness: FrameNumber = 0
    var group = first
    while true {
      witness = max(witness, group.header.durableUpTo)
      voids += group.header.voids
      var frame = group.header.frame
      for image in group.header.images {
        frame = geometry.next(after: frame)
        // Below the witness no image is read; its segment must be there all the same.
        guard table[geometry.segment(of: frame)] != nil else { return nil }
        images.append(ScannedCommit.Image(page: image.page, frame: frame, hash: image.hash))
      }
      if let commit = group.header.commit {
        images.removeAll { image in
          voids.contains { $0.first <= image.frame && image.frame <= $0.last }
        }
        return ScannedCommit(
          point: CommitPoint(
            frame: frame, digest: group.digest, lineage: group.header.lineage,
            pageCount: commit.pageCount, time: commit.time),
          base: start, witness: witness, images: images,
          ended: isJump ? EndedLineage(lineage: point.lineage, end: point.frame) : nil)
      }
      guard let following = try header(at: geometry.next(after: frame)),
        following.header.previous == group.digest,
        following.header.transaction == first.header.transaction,
        following.header.lineage == first.header.lineage, following.header.base == start,
        following.header.ordinal == group.header.ordinal &+ 1
      else { return nil }
      group = following
    }
  }
}
