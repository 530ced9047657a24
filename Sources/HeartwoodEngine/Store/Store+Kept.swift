extension Store {
  /// Keeps a generation under a name: it stays readable until ``release(_:)``, across restarts,
  /// even if no process holds it.
  ///
  /// Its cost is bounded: the log retains at most one more image of each page changed since; see
  /// ``StoreStatistics/logByteBound``.
  ///
  /// - Parameters:
  ///   - generation: A readable generation: the newest, or one that is held.
  ///   - name: 1 to 255 bytes of UTF-8. Keeping the same generation under the same name again is no
  ///     error.
  /// - Throws: `generationExpired`; `invalidArgument` if the name is in use for another generation;
  ///   `tooLarge` for an empty or too long name; `busy`; `readOnly`, `closed`, `failed`, `full`,
  ///   `io`.
  /// - Complexity: Durable on return: at most one sync of the log, one of the list and one of the
  ///   directory.
  public func keep(_ generation: Generation, as name: String) throws {
    try requireWritable()
    guard 1...Limits.maxKeptNameByteCount ~= name.utf8.count else {
      throw StorageError(
        .tooLarge,
        "The name of a generation has 1 to \(Limits.maxKeptNameByteCount) bytes; this one has "
          + "\(name.utf8.count).")
    }
    // K1: released only after the list contains the name, so that every maintenance run finds
    // either the lock or the name.
    let snapshot = try snapshot(at: generation)
    defer { withExtendedLifetime(snapshot) {} }
    // A named generation must be durable.
    try queue.makeDurable(generation.frame)
    let point = snapshot.state.point
    let row = KeptGenerations.Row(lineage: point.lineage, generation: point.frame, time: point.time)
    try changeKept { kept throws(StorageError) in
      // The store cannot be suspended while the list is being replaced.
      try snapshot.requireCurrent()
      if let old = kept.rows[name], old.generation != row.generation {
        throw StorageError(
          .invalidArgument,
          "The name \"\(name)\" is in use for generation \(old.generation). Release it first, or "
            + "use another name.")
      }
      kept.rows[name] = row
    }
  }

  /// Releases a named generation; does nothing if the name is not in use.
  ///
  /// Its snapshots stay valid. The next maintenance run frees its space.
  ///
  /// - Throws: `busy`, `readOnly`, `closed`, `failed`, `full` or `io`.
  /// - Complexity: One sync of the list and one of the directory.
  public func release(_ name: String) throws {
    try requireWritable()
    try changeKept { kept throws(StorageError) in kept.rows[name] = nil }
    maintenance.noteExpiry()
  }

  /// Returns the named generations.
  ///
  /// - Throws: `closed`, `io`, or `corrupt` if the list is corrupt.
  public func keptGenerations() throws -> [String: Generation] {
    try requireOpen()
    return try KeptGenerations.read(files.log).rows.mapValues { Generation(frame: $0.generation) }
  }

  /// K1.3 to K1.6, K2: replaces the list, unless the change leaves it the same.
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
        // It is now unknown which list a power cut would leave, so nothing may be reclaimed based
        // on either.
        if error.kind == .io { files.words.noteFailure(error) }
        throw error
      }
      files.counters.update { $0.directorySyncs += 1 }
    }
  }
}
