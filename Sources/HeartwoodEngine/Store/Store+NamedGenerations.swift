extension Store {
  /// Keeps a generation readable under a name until ``release(_:)`` is called.
  ///
  /// The generation stays readable across restarts, and even while no process holds it. For each
  /// named generation, the log retains at most one additional image of each page that has changed
  /// since that generation; see ``StoreStatistics/logByteBound``.
  ///
  /// - Parameters:
  ///   - generation: A readable generation, such as the newest generation or a held generation.
  ///   - name: A name of 1 to 255 UTF-8 bytes. Keeping the same generation under the same name
  ///     again has no effect.
  /// - Throws: `generationExpired` if the generation is no longer readable, `invalidArgument` if
  ///   the name is already used for another generation, or `tooLarge` if the name is empty or too
  ///   long. Also throws `busy`, `readOnly`, `closed`, `writesDisabled`, `diskFull` or `io`.
  /// - Complexity: At most three syncs: one each for the log, the list of named generations, and
  ///   the directory. The name is durable on return.
  public func keep(_ generation: Generation, as name: String) throws {
    try requireWritable()
    guard 1...Limits.maxGenerationNameByteCount ~= name.utf8.count else {
      throw StorageError(
        .tooLarge,
        "The name of a generation must be 1 to \(Limits.maxGenerationNameByteCount) bytes long, "
          + "but this name is \(name.utf8.count) bytes long. Choose a different name.")
    }
    try core.changes.enter()
    defer { core.changes.leave() }
    // Hold the snapshot until the name is in the list, so that every maintenance run finds either
    // the snapshot's lock or the name (K1).
    let snapshot = try snapshot(at: generation)
    defer { withExtendedLifetime(snapshot) {} }
    // Make the generation durable before its name is stored. Otherwise, a power cut could undo the
    // generation but not the name.
    try queue.makeDurable(generation.frame)
    let point = snapshot.state.point
    let row = NamedGenerations.Row(
      lineage: point.lineage, generation: point.frame, time: point.time)
    try changeNamed { named throws(StorageError) in
      // Check that the store has not been suspended since the snapshot was taken, because a
      // suspension releases the snapshot's lock. From now on, the store cannot be suspended until
      // the list has been replaced.
      try snapshot.requireCurrent()
      if let old = named.rows[name], old.generation != row.generation {
        throw StorageError(
          .invalidArgument,
          "The name \"\(name)\" is already used for generation \(old.generation). Release that "
            + "generation first, or choose a different name.")
      }
      named.rows[name] = row
    }
  }

  /// Releases a named generation.
  ///
  /// The method does nothing if the name is not in use.
  ///
  /// Snapshots of the generation remain valid. The next maintenance run frees the log space that
  /// only the name retains.
  ///
  /// - Throws: `busy`, `readOnly`, `closed`, `writesDisabled`, `diskFull` or `io`.
  /// - Complexity: Two syncs: one for the list of named generations, and one for the directory.
  public func release(_ name: String) throws {
    try requireWritable()
    try core.changes.enter()
    defer { core.changes.leave() }
    try changeNamed { named throws(StorageError) in named.rows[name] = nil }
    maintenance.scheduleAfterExpiry()
  }

  /// Returns the named generations, keyed by their names.
  ///
  /// - Throws: `corrupt` if the list of named generations is corrupt, or `closed`, `suspended` or
  ///   `io`.
  public func namedGenerations() throws -> [String: Generation] {
    try requireOpen()
    try table.requireActive()
    return try NamedGenerations.read(files.log).rows.mapValues { Generation(frame: $0.generation) }
  }

  /// Performs steps K1.3 to K1.6 and K2: applies `change` to the list of named generations, and
  /// replaces the list's file.
  private func changeNamed(
    _ change: (inout NamedGenerations) throws(StorageError) -> Void
  ) throws(StorageError) {
    guard !files.counters.hasFailed else { throw SyncQueue.writesDisabled }
    try files.keeping.withLock { () throws(StorageError) in
      try table.requireActive()
      try files.opened.require()
      let old = try NamedGenerations.read(files.log)
      var named = old
      try change(&named)
      guard named != old else { return }
      do throws(StorageError) {
        try NamedGenerations.file.replace(with: named.encoded(for: files.identity), files.log)
      } catch {
        // Disable writing. After a power cut, either the old or the new list could be on disk, so
        // nothing may be reclaimed on the basis of either list.
        files.counters.disableWriting(after: error)
        throw error
      }
      files.activity.update { $0.directorySyncCount += 1 }
    }
  }
}
