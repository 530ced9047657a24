/// A step that adds the generation of a backup file to a replica.
///
/// The step writes each page image to the same log frame as in the source. It also lists each image
/// in the map of retained frames, as if the log had been reclaimed up to that generation.
/// `Docs/Internals/Concurrency.md` describes this step under B1.
struct ReplicaStep {
  private let core: StoreCore
  private let file: BackupFile
  private var files: StoreFiles { core.files }
  private var geometry: Geometry { core.files.geometry }
  private var header: BackupHeader { file.header }

  init(_ core: StoreCore, _ file: BackupFile) { (self.core, self.file) = (core, file) }

  /// Durably makes the file's generation the newest generation of the replica.
  ///
  /// - Throws: `foreignStore` if the generation does not descend from the replica's newest
  ///   generation, `corrupt` if the file is damaged, or `busy` if a held generation is too old.
  ///   Also throws `writesDisabled`, `io` or `diskFull`. After an error, the replica is unchanged.
  func run() throws(StorageError) {
    try core.changes.enter()
    defer { core.changes.leave() }
    try files.maintenance.withLock { () throws(StorageError) in
      try core.writerLock.acquire(timeout: nil)
      defer { core.writerLock.release() }
      guard !files.counters.hasFailed else { throw SyncQueue.writesDisabled }
      try files.opened.require()
      let old = try core.table.catchUp()
      try requireSuccessor(of: old.point)
      let (new, map) = try prepared(after: old)
      // After an error, keep the images, because the new map may already be in place. The next
      // attempt writes the images again.
      try RetainedFrameMap.file.replace(with: map.encoded(for: files.identity), files.log)
      core.table.publishAppended(new)
      core.table.publishSynced(new.generation)
    }
    core.signal.notify()
    // Ignore errors from maintenance, because the generation itself has been added.
    try? core.maintenance.runAfterAdding(header.point.frame, header.lineages)
  }

  private func requireSuccessor(of point: CommitPoint) throws(StorageError) {
    let isNewer = header.point.frame > point.frame && header.base?.frame ?? 0 <= point.frame
    guard header.identity == files.identity, header.geometry == geometry, isNewer,
      header.point.descends(from: point, header.lineages)
    else {
      throw StorageError(
        .foreignStore,
        "The backup file does not continue the replica's history. If the source was restored to an "
          + "earlier state, create a new replica.", file: header.name.text)
    }
    let first = geometry.segment(of: geometry.next(after: files.counters.checkpointed))
    guard geometry.segment(of: header.point.frame) - first <= Limits.maxSegmentSpan else {
      throw StorageError(
        .busy,
        "The replica is too far behind its source, because a process holds an old generation. End "
          + "that process, or release its snapshots.", file: files.directory)
    }
  }

  /// Writes and syncs the page images of the new generation.
  ///
  /// - Returns: The state of the new generation, and the map of retained frames that includes it.
  private func prepared(
    after old: GenerationState
  ) throws(StorageError) -> (GenerationState, RetainedFrameMap) {
    do throws(StorageError) {
      let new = try added(to: old)
      return (new.state, try map(adding: new.frames, after: old.point))
    } catch {
      // After an error, free the space that the images occupy, unless an earlier attempt may have
      // replaced the map.
      guard let map = try? RetainedFrameMap.read(files.log).map(\.end.frame) ?? 0,
        map <= old.generation
      else { throw error }
      files.cache.forgetFrames(from: geometry.next(after: old.generation))
      files.allocator.reclaim(after: geometry.segment(of: old.generation))
      throw error
    }
  }

  private func added(
    to old: GenerationState
  ) throws(StorageError) -> (state: GenerationState, frames: [RetainedFrameMap.RetainedFrame]) {
    let point = header.point
    // Allocate disk space now, so that a checkpoint cannot run out of space.
    try files.pageFile.reserve(point.pageCount, mayHaveBeenCut: true)
    let (frames, written) = try writeImages(newerThan: old.generation)
    let index = PageIndex(sharing: old.index)
    for frame in frames { index.set(frame.page, to: frame.frame) }
    let known = old.segments.segments.filter { written[$0.number] == nil }
    let segments = (known + written.values).sorted { $0.number < $1.number }
    let new = try GenerationState(
      point: point, index: index, segments: SegmentTable(segments), files: files)
    try requireNewPages(of: new, from: old.point.pageCount)
    for segment in written.values { try segment.file.sync() }
    // Sync the directory now, because the names of the segments must be durable before the map that
    // refers to them.
    try files.log.syncDirectory()
    return (new, frames)
  }

  /// Writes the missing images to their frames in the log.
  ///
  /// A full or merged file may also contain images that the replica already has.
  private func writeImages(
    newerThan generation: FrameNumber
  ) throws(StorageError) -> (
    frames: [RetainedFrameMap.RetainedFrame], written: [UInt64: Segment]
  ) {
    var frames: [RetainedFrameMap.RetainedFrame] = []
    var written: [UInt64: Segment] = [:]
    let lineage = header.point.lineage
    try file.forEachImage { page, image throws(StorageError) in
      let frame = image.load64(PageLayout.frame.offset)
      guard frame > generation else { return }
      guard geometry.isFrame(frame) else { throw damaged() }
      let number = geometry.segment(of: frame)
      if written[number] == nil {
        written[number] = try files.log.sparseSegment(number, lineage: lineage)
      }
      try written[number]?.file.write([image], at: geometry.offset(of: frame))
      frames.append(RetainedFrameMap.RetainedFrame(frame: frame, page: page))
    }
    frames.sort { $0.frame < $1.frame }
    for (before, next) in zip(frames, frames.dropFirst()) where before.frame == next.frame {
      throw damaged()
    }
    return (frames, written)
  }

  /// Checks that the new state has an image of every page in use at or after `first`.
  ///
  /// The store previously ended before `first`, so only the backup file can contain these pages.
  private func requireNewPages(
    of state: GenerationState, from first: PageNumber
  ) throws(StorageError) {
    let used = UsedPages(view: state.view, geometry: geometry)
    var next = try used.next(from: min(first, state.point.pageCount))
    while let page = next {
      guard state.index.frame(of: page) > 0 else { throw damaged() }
      next = try used.next(from: page + 1)
    }
  }

  private func damaged() -> StorageError {
    BackupHeader.damaged("its pages do not form a complete generation", header.name.text)
  }

  /// Returns the map of retained frames, extended by the new generation and its frames.
  ///
  /// The result includes all generations of the existing map, because readers may hold any of them.
  /// The next maintenance run removes the generations that no reader holds.
  private func map(
    adding frames: [RetainedFrameMap.RetainedFrame], after point: CommitPoint
  ) throws(StorageError) -> RetainedFrameMap {
    let checkpointed = files.counters.checkpointed
    var points: [CommitPoint] = []
    var retained: [RetainedFrameMap.RetainedFrame] = []
    if let old = try RetainedFrameMap.read(files.log), old.end.frame > checkpointed {
      points = old.retainedGenerations.filter { $0.frame <= point.frame }
      retained = old.retainedFrames.filter {
        $0.frame > checkpointed && $0.frame <= point.frame
      }
    }
    return RetainedFrameMap(
      serial: files.fileSystem.random(), start: checkpointed,
      retainedGenerations: points + [header.point], lineages: header.lineages,
      retainedFrames: retained + frames)
  }
}
