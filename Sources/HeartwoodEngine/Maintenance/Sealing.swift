/// An operation that seals full, durable segments by writing their footers.
///
/// A process that opens a store need not read the group headers of sealed segments. A footer is a
/// cache, so errors are ignored, and the footer is not synced separately. The segment in which the
/// page file's state ends does not get a footer, because the earlier commits in that segment are no
/// longer known.
final class Sealing: @unchecked Sendable {
  // `@unchecked` is safe because only the holder of the maintenance lock uses this object.
  private let files: StoreFiles
  private let geometry: Geometry
  /// The last commit in the segments processed so far.
  private var reached: CommitPoint

  init(_ files: StoreFiles) {
    self.files = files
    geometry = files.geometry
    reached = files.start
  }

  /// Seals the full segments between the page file's state and a state that is known to be synced.
  ///
  /// - Complexity: One page read for each group since the last call, and one write for each sealed
  ///   segment.
  func seal(upTo durable: GenerationState) { try? sealFullSegments(durable) }

  private func sealFullSegments(_ durable: GenerationState) throws(StorageError) {
    let start = try start()
    let end = lastSealable(durable.generation)
    let first = geometry.segment(of: geometry.next(after: start.frame))
    guard geometry.firstFrame(of: first) <= end else { return }
    var scanner = try files.log.scanner(of: durable.segments.dropping(below: first), from: start)
    var building: SegmentFooterBuilder?
    while let step = try scanner.step(upTo: end) {
      let segment = geometry.segment(of: step.point.frame)
      if let full = building, full.segment < segment {
        finish(full, durable.segments)
        building = nil
      }
      guard step.point.frame <= end else { return }
      if step.isFooter {
        building = nil
        reached = step.point
      } else if geometry.firstFrame(of: segment) > start.frame {
        if building == nil {
          building = SegmentFooterBuilder(segment: segment, geometry: geometry)
        }
        building?.add(step)
      }
    }
    if let full = building, geometry.lastFrame(of: full.segment) == scanner.point.frame {
      finish(full, durable.segments)
    }
  }

  /// Returns the commit from which to start reading the log.
  ///
  /// This commit is at or after both the page file's state and the end of the map.
  private func start() throws(StorageError) -> CommitPoint {
    let header = try HeaderSlot.requireNewest(try HeaderSlot.readBoth(files.pageFile.file))
    var start = reached.frame < header.checkpointed.frame ? header.checkpointed : reached
    if let end = files.reclaimed.last?.end, end.frame > start.frame { start = end }
    return start
  }

  /// Returns the last frame of the last segment that is full and durable, or 0 if there is none.
  private func lastSealable(_ durable: FrameNumber) -> FrameNumber {
    let segment = geometry.segment(of: durable)
    let last = geometry.lastFrame(of: segment)
    if last <= durable { return last }
    return segment == 0 ? 0 : geometry.lastFrame(of: segment - 1)
  }

  private func finish(_ builder: SegmentFooterBuilder, _ segments: SegmentTable) {
    let footer = builder.footer
    reached = footer.point
    let block = ByteBlock(count: footer.byteCount)
    defer { block.keep() }
    footer.encode(
      to: block.bytes, segment: builder.segment, geometry: geometry, seed: files.identity.seed)
    try? segments[builder.segment]?.file.writeUnpromised(
      block.bytes.bytes, at: geometry.footerOffset)
  }
}
