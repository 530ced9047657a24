/// An object in another store.
struct FeedSubject: Hashable {
  /// The URI of the store.
  let source: String
  /// The object's ID in its store.
  let id: String
}

/// The events applied by one transaction.
struct FeedEvents {
  /// The objects with new events, in the order of their first new events.
  private(set) var subjects: [FeedSubject] = []
  /// The most recent event for each object, without repeated events.
  private(set) var last: [FeedSubject: FeedElement] = [:]
  /// The time of each completed snapshot of existing objects, keyed by source.
  private(set) var completed: [String: Int64] = [:]
  /// The position of the newest snapshot of each source.
  private(set) var snapshots: [String: FeedPosition] = [:]
  /// The position of each source's last event that was not part of an incomplete snapshot.
  private(set) var positions: [String: FeedPosition] = [:]
  private(set) var report = FeedReport()

  /// Collects the events that have not been applied yet.
  mutating func collect(_ elements: ArraySlice<FeedElement>, _ records: FeedRecords) throws {
    for var element in elements {
      let isNew = try isNew(&element, records)
      recordProgress(element)
      guard isNew else {
        report.repeatedCount += 1
        continue
      }
      if element.operation == .complete { completed[element.source] = element.seen }
      guard let id = element.subject else { continue }
      if let key = element.values?.ignoredKey, let entity = element.entity {
        throw element.failure(
          .invalidElement,
          "In this store, \(entity.name) has no property named \(key). If the source still has the "
            + "property, add it to the store's model. Otherwise, start a new feed that begins with "
            + "the existing objects.")
      }
      report.appliedCount += 1
      let subject = FeedSubject(source: element.source, id: id)
      var latest = element
      if let earlier = last[subject] {
        latest.complete(from: earlier)
      } else {
        subjects.append(subject)
      }
      last[subject] = latest
    }
    for (source, time) in completed { removeObjects(of: source, before: time) }
  }

  /// Removes the objects that belong to an earlier, interrupted snapshot but are missing from the
  /// completed one.
  private mutating func removeObjects(of source: String, before time: Int64) {
    subjects.removeAll { subject in
      guard subject.source == source, let event = last[subject], event.seen < time,
        event.operation != .deleted
      else { return false }
      last[subject] = nil
      return true
    }
  }

  /// Records that the event's transaction is complete if the event is its last one.
  private mutating func recordProgress(_ element: FeedElement) {
    guard element.isLast, let store = element.store else { return }
    // Do not record the time of a `complete` event, because it is the time of a generation rather
    // than of a transaction.
    let time = element.operation == .complete ? nil : element.time
    report.complete(HistoryPosition(sequence: element.transaction, time: time), of: store)
  }

  /// Records an event as applied, and returns whether the event is new.
  ///
  /// - Returns: `false` if the event had already been applied.
  private mutating func isNew(
    _ element: inout FeedElement, _ records: FeedRecords
  ) throws -> Bool {
    let known = try positions[element.source] ?? records.position(of: element.source)
    // Never decrease the time, even if the clock was set back, because objects that are missing
    // from a snapshot are recognised by their earlier times.
    var new = FeedPosition(
      transaction: element.transaction, index: element.index, time: max(element.time, known.time))
    switch element.operation {
    case .existing, .complete:
      let snapshot = try snapshots[element.source] ?? records.snapshot(of: element.source)
      // Events for existing objects contain the number of the transaction that was newest when the
      // feed began. If the source has since been restored from a backup, this number may have
      // decreased. In that case, recognise a new event by its later time.
      let isNew = [known, snapshot ?? known].allSatisfy { last in
        element.transaction >= last.transaction || element.time > last.time
      }
      guard isNew else { return false }
      new.index = .max
      // Advance the time, so that the objects of another snapshot get a later time even if both
      // snapshots were taken in the same millisecond.
      let last = max(known.time, snapshot?.time ?? 0)
      let isSame = snapshot?.transaction == element.transaction
      new.time = max(element.time, isSame ? last : last + 1)
      snapshots[element.source] = new
      element.seen = new.time
      // Do not record the position of an incomplete snapshot as the feed's position. Otherwise, a
      // feed that continues with the earlier transactions instead would seem to be repeated.
      if element.operation == .complete { positions[element.source] = new }
      return true
    case .inserted, .updated, .deleted:
      guard new > known else {
        try requireRepeated(element, known)
        return false
      }
    }
    positions[element.source] = new
    element.seen = new.time
    return true
  }

  /// Throws an error if an event has the number of an earlier transaction but a later time, which
  /// means that the source was restored to an earlier state.
  private func requireRepeated(_ element: FeedElement, _ known: FeedPosition) throws {
    guard element.time > known.time else { return }
    throw FeedFailure(
      .historyExpired, element.source,
      "The source was restored to an earlier state: transaction \(element.transaction) in the feed "
        + "is newer than the last applied transaction (\(known.transaction)), but its number is "
        + "not higher. Start a new feed that begins with the existing objects, and use a different "
        + "consumer.")
  }
}
