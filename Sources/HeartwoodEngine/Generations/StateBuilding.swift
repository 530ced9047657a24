extension StoreFiles {
  /// X1: the state of a generation, built from the page file's header and the group headers of the
  /// log behind it.
  ///
  /// Needs a verified pin of the generation, so that no pass moves past it meanwhile; one may still
  /// move up to it and delete segments on the way, and then the building starts anew.
  ///
  /// - Throws: `generationExpired` if no commit ends at `generation`.
  /// - Complexity: One page read for each group of the log up to the generation.
  package func state(at generation: FrameNumber) throws(StorageError) -> GenerationState {
    while true {
      guard let header = HeaderSlot.newest(try HeaderSlot.readBoth(pageFile.file)) else {
        throw .corrupt("Neither header slot of the page file is whole.", file: "pages")
      }
      let start = header.backfilled
      let first = geometry.segment(of: geometry.next(after: start.frame))
      let table = try log.openAll(from: first, isMapped: log.isMapped)
      var scanner = try LogScanner(
        table: table, geometry: geometry, seed: identity.seed, from: start)
      let index = PageIndex()
      while scanner.point.frame < generation, let commit = try scanner.next() {
        guard commit.point.frame <= generation else { break }
        for image in commit.images { index.set(image.page, to: image.frame) }
      }
      if scanner.point.frame == generation {
        return try GenerationState(
          point: scanner.point, index: index, segments: table, files: self)
      }
      if words.backfilled > start.frame { continue }
      throw StorageError(
        .generationExpired, "Generation \(generation) never was a commit of this store.")
    }
  }
}
