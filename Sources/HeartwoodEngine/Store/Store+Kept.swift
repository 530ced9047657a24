extension Store {
  /// Keeps a generation by name: it stays readable until ``release(_:)``, across restarts, with no
  /// process that holds it.
  ///
  /// What it costs is bounded: the log holds at most one more image of each page changed since; see
  /// ``StoreStatistics/logByteBound``.
  ///
  /// - Parameters:
  ///   - generation: One that can be read now: the newest, or one that somebody holds.
  ///   - name: 1 to 255 bytes of UTF-8. Keeping the same generation by the same name again is no
  ///     error.
  /// - Throws: `generationExpired`; `invalidArgument` if the name is taken by another generation;
  ///   `tooLarge` for a name of no or too many bytes; `busy`; `readOnly`, `closed`, `failed`,
  ///   `full`, `io`.
  /// - Complexity: Durable when it returns: at most one sync of the log, one of the list and one of
  ///   the folder.
  public func keep(_ generation: Generation, as name: String) throws {
    try requireWritable()
    guard 1...Limits.maxKeptNameByteCount ~= name.utf8.count else {
      throw StorageError(
        .tooLarge,
        "The name of a kept generation has 1 to \(Limits.maxKeptNameByteCount) bytes; this one has "
          + "\(name.utf8.count).")
    }
    // K1: given back only after the list names it, so that no pass finds neither.
    let snapshot = try snapshot(at: generation)
    defer { withExtendedLifetime(snapshot) {} }
    // What is kept must be one that cannot be lost.
    try queue.makeDurable(generation.frame)
    let point = snapshot.state.point
    let row = KeptGenerations.Row(
      lineage: point.lineage, generation: point.frame, time: point.time)
    try changeKept { kept throws(StorageError) in
      // Nobody suspends the store as long as the list is being exchanged.
      try snapshot.requireCurrent()
      if let old = kept.rows[name], old.generation != row.generation {
        throw StorageError(
          .invalidArgument,
          "The name \"\(name)\" keeps generation \(old.generation) already. Release it first, or "
            + "take another name.")
      }
      kept.rows[name] = row
    }
  }

  /// Ends the keeping of a generation; nothing happens if the name keeps none.
  ///
  /// Snapshots that show it stay as they are. The space it took returns with the next pass.
  ///
  /// - Throws: `busy`, `readOnly`, `closed`, `failed`, `full` or `io`.
  /// - Complexity: One sync of the list and one of the folder.
  public func release(_ name: String) throws {
    try requireWritable()
    try changeKept { kept throws(StorageError) in kept.rows[name] = nil }
    maintenance.noteExpiry()
  }

  /// The generations that are kept, by name.
  ///
  /// - Throws: `closed`, `io`, or `corrupt` if the list is damaged.
  public func keptGenerations() throws -> [String: Generation] {
    try requireOpen()
    return try KeptGenerations.read(files.log).rows.mapValues { Generation(frame: $0.generation) }
  }

  /// K1.3 to K1.6, K2: exchanges the list for a changed one; not if the change leaves it the same.
  private func changeKept(
    _ change: (inout KeptGenerations) throws(StorageError) -> Void
  ) throws(StorageError) {
    guard !files.words.hasFailed else { throw SyncQueue.closedForWriting }
    try files.keeping.withLock { () throws(StorageError) in
      try table.requireActive()
      try files.opened.require()
      let old = try KeptGenerations.read(files.log)
      var kept = old
      try change(&kept)
      guard kept != old else { return }
      do throws(StorageError) {
        try KeptGenerations.file.replace(with: kept.encoded(for: files.identity), files.log)
      } catch {
        // Which list a power cut leaves is unknown now; nothing may be given up by either.
        if error.kind == .io { files.words.noteFailure(error) }
        throw error
      }
      files.counters.update { $0.directorySyncs += 1 }
    }
  }
}
