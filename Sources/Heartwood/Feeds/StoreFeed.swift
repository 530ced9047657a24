import Foundation

/// A feed that returns the available events of one store without waiting for new events.
struct StoreFeed {
  /// The position at which a store's feed begins.
  enum Start {
    /// The feed begins with the objects of the newest generation.
    case existingObjects
    /// The feed begins at the given position in the history, or with the oldest transaction if the
    /// position is `nil`.
    case position(HistoryPosition?)
  }

  /// The existing objects that the feed has not returned yet.
  private struct Existing {
    let view: FeedView
    /// The history position from which changes to these objects are read.
    let position: HistoryPosition
    /// The entities whose objects have not all been returned.
    var entities: ArraySlice<FeedEntity>
    /// The number of the last row that was read from the first remaining entity.
    var row: Int64 = 0
    /// The next events, in reverse order.
    var waiting: [ChangeFeed.Event] = []
  }

  /// The changes between two generations.
  private struct Changes {
    let view: FeedView
    var cursor: HistoryCursor
    /// The next change, or `nil` if there are no more changes.
    var next: HistoryCursor.Change?
  }

  let attached: StoreGroup.AttachedStore
  /// The position after the last transaction whose events have all been returned, or `nil` at the
  /// start of the history.
  private(set) var position: HistoryPosition?
  private let values: ChangeFeed.IncludedValues
  private let entities: [FeedEntity]
  /// The store's URI, as it appears in events.
  private let source: String
  /// The last event returned from the current transaction, or `nil` if none of its events remain.
  ///
  /// The feed continues after this event.
  private var last: (transaction: Int64, index: Int)?
  private var existing: Existing?
  private var changes: Changes?
  /// The generation that the feed last read, if the events contain values from before the changes.
  private var previous: FeedView?

  /// The number of existing objects to read at a time.
  private static let rowCount = 256

  private var model: StoreModel { attached.model }

  /// Creates a feed of the events of one store.
  ///
  /// - Throws: `incompatibleSchema` if the store's model has changed; any error from reading the
  ///   store.
  init(
    _ attached: StoreGroup.AttachedStore, from start: Start, _ values: ChangeFeed.IncludedValues
  ) throws {
    self.attached = attached
    self.values = values
    source = "x-heartwood://\(attached.model.space.store.uuidString)"
    entities = attached.model.entities.map { FeedEntity($0, attached.model) }
    switch start {
    case .position(let known): position = known
    case .existingObjects:
      let view = try newestView()
      existing = Existing(
        view: view,
        position: try HistoryReader(view.snapshot, attached.model).newestPosition(),
        entities: entities.filter { !$0.storage.entity.isAbstract }[...])
    }
  }

  /// A Boolean value that indicates whether existing objects remain to be returned.
  var isReadingExisting: Bool { existing != nil }

  /// Returns the time of the next transaction, or `nil` if there is no next transaction yet.
  ///
  /// - Throws: `historyExpired` if transactions that follow the position have been deleted;
  ///   `incompatibleSchema` if the store's model has changed; any error from reading the store.
  mutating func nextTime() throws -> Double? {
    if changes == nil { try readChanges() }
    return changes?.next?.transaction.header.timestamp
  }

  /// Returns the next event, or `nil` if no event is available yet.
  ///
  /// - Throws: The same errors as ``nextTime()``.
  mutating func next() throws -> ChangeFeed.Event? {
    if var state = existing {
      if state.waiting.isEmpty { try readExisting(&state) }
      existing = nil
      return nextExisting(&state)
    }
    guard try nextTime() != nil, var state = changes, let change = state.next else { return nil }
    // Discard the changes before reading, so that the next call reads the same event again if this
    // read fails.
    changes = nil
    state.next = try nextChange(&state.cursor)
    let transaction = change.transaction.sequence
    let isLast = state.next?.transaction.sequence != transaction
    let event = try event(for: change, isLast: isLast, state)
    last = isLast ? nil : (transaction, change.index)
    if isLast { position = change.transaction.position }
    if state.next == nil { endChanges(state) } else { changes = state }
    return event
  }

  /// Releases the generations held by the feed.
  ///
  /// The feed then continues with the newest generation.
  ///
  /// - Throws: `generationExpired` if some existing objects of a generation have not been returned
  ///   yet.
  mutating func restart() throws {
    guard existing == nil else {
      throw StorageError(
        .generationExpired,
        "The store was suspended before the feed had returned all existing objects. Start a new "
          + "feed.")
    }
    (changes, previous) = (nil, nil)
  }

  private func newestView() throws -> FeedView {
    try FeedView(try attached.store.snapshot(), model, entities)
  }

  // MARK: Existing objects

  private mutating func nextExisting(_ state: inout Existing) -> ChangeFeed.Event {
    if let event = state.waiting.popLast() {
      existing = state
      return event
    }
    position = state.position
    if values.includesBefore { previous = state.view }
    return event(of: .complete, nil, state)
  }

  private func readExisting(_ state: inout Existing) throws {
    while state.waiting.isEmpty, let entity = state.entities.first {
      let (view, last) = (state.view, state.row)
      try view.forEachRow(of: entity, after: last) { number, row in
        state.waiting.append(try event(for: number, entity, row, state))
        state.row = number.row
        return state.waiting.count < Self.rowCount
      }
      if state.waiting.count < Self.rowCount {
        state.entities = state.entities.dropFirst()
        state.row = 0
      }
    }
    state.waiting.reverse()
  }

  private func event(
    for number: ObjectNumber, _ entity: FeedEntity, _ row: [StoredValue], _ state: Existing
  ) throws -> ChangeFeed.Event {
    var event = event(of: .existing, ManagedObjectID(number, model.space), state)
    event.key = entity.key(in: row)
    if values.includesAfter { event.after = try state.view.values(of: number, entity, row, nil) }
    return event
  }

  private func event(
    of operation: ChangeFeed.Event.Operation, _ id: ManagedObjectID?, _ state: Existing
  ) -> ChangeFeed.Event {
    let snapshot = state.view.snapshot
    return ChangeFeed.Event(
      operation: operation, objectID: id, changedProperties: [], author: nil,
      time: Date(timeIntervalSince1970: Double(snapshot.state.point.time) / 1000),
      transaction: state.position.sequence, index: 0, isLast: operation == .complete,
      generation: snapshot.generation, newestTransaction: state.position.sequence, source: source,
      includesAfter: values.includesAfter && id != nil)
  }

  // MARK: Changes

  /// Begins reading the changes between the position and the newest generation.
  private mutating func readChanges() throws {
    let view = try newestView()
    var cursor = try HistoryCursor(view.snapshot, after: position)
    // Set the position now, so that the feed can report an error if transactions are deleted before
    // it has read them.
    let start = position ?? cursor.position
    position = start
    guard cursor.newest > start.sequence else {
      if values.includesBefore { previous = view }
      return
    }
    if previous == nil, values.includesBefore { previous = try newestView(at: start) }
    let next = try nextChange(&cursor)
    let state = Changes(view: view, cursor: cursor, next: next)
    if next == nil { endChanges(state) } else { changes = state }
  }

  private mutating func endChanges(_ state: Changes) {
    // Move to the newest transaction, because the last transactions produce no events if they have
    // changed only objects of unknown classes.
    position = state.cursor.position
    previous = values.includesBefore ? state.view : nil
  }

  /// Returns the next change to an object of a known class, skipping changes that have already been
  /// returned.
  private mutating func nextChange(
    _ cursor: inout HistoryCursor
  ) throws -> HistoryCursor.Change? {
    while let change = try cursor.nextChange() {
      if let last, change.transaction.sequence == last.transaction, change.index <= last.index {
        continue
      }
      if model.storage(of: change.number) != nil { return change }
    }
    return nil
  }

  /// Returns a view of the newest readable generation whose last transaction is at `position`, or
  /// `nil` if there is no such generation.
  private func newestView(at position: HistoryPosition) throws -> FeedView? {
    for live in try attached.store.liveGenerations().reversed() {
      guard let snapshot = try? attached.store.snapshot(at: live.generation),
        let newest = try? HistoryCursor(snapshot, after: nil).newest,
        newest <= position.sequence
      else { continue }
      return newest == position.sequence ? try? FeedView(snapshot, model, entities) : nil
    }
    return nil
  }

  /// Returns the event for a change.
  ///
  /// - Precondition: The next change in `state` is the one that follows this change.
  private func event(
    for change: HistoryCursor.Change, isLast: Bool, _ state: Changes
  ) throws -> ChangeFeed.Event? {
    let view = state.view
    guard let entity = view.entity(of: change.number) else { return nil }
    let (operation, properties, tombstone) = description(of: change.change, entity)
    let (transaction, header) = (change.transaction.sequence, change.transaction.header)
    var event = ChangeFeed.Event(
      operation: operation, objectID: ManagedObjectID(change.number, model.space),
      changedProperties: properties ?? [], author: header.author,
      time: header.date,
      transaction: transaction, index: change.index, isLast: isLast,
      generation: view.snapshot.generation,
      newestTransaction: state.next == nil ? transaction : state.cursor.newest, source: source,
      includesAfter: values.includesAfter)
    let row = try view.row(change.number, entity)
    event.key = row.flatMap { entity.key(in: $0) } ?? entity.key(in: tombstone)
    if values.includesAfter, operation != .deleted, let row {
      event.after = try view.values(of: change.number, entity, row, properties)
    }
    if values.includesBefore {
      if let previous {
        event.includesBefore = true
        let row = try previous.row(change.number, entity)
        event.before = try row.map {
          try previous.values(of: change.number, entity, $0, properties)
        }
        event.key = event.key ?? row.flatMap { entity.key(in: $0) }
      } else if !tombstone.isEmpty {
        event.before = entity.values(in: tombstone)
      }
    }
    return event
  }

  /// Returns the operation of the change, the names of the updated properties, and the preserved
  /// values of a deleted object.
  private func description(
    of change: HistoryFormat.Change, _ entity: FeedEntity
  ) -> (ChangeFeed.Event.Operation, Set<String>?, [(UInt16, String)]) {
    switch change {
    case .insert: (.inserted, nil, [])
    case .update(let numbers):
      (.updated, Set(numbers.compactMap { entity.storage.propertyName($0) }), [])
    case .delete(let tombstone): (.deleted, nil, tombstone)
    }
  }
}

extension FeedEntity {
  /// Returns the key from a row's values, which are indexed by slot.
  fileprivate func key(in row: [StoredValue]) -> ChangeFeed.Key? {
    key.flatMap { property in
      let value = row[property.slot]
      return value.isNull ? nil : ChangeFeed.Key(property: property, value: value)
    }
  }

  /// Returns the key of a deleted object, if the history preserves it.
  fileprivate func key(in tombstone: [(UInt16, String)]) -> ChangeFeed.Key? {
    guard let key else { return nil }
    return value(of: key, in: tombstone).map { ChangeFeed.Key(property: key, value: $0) }
  }

  /// Returns the values that the history preserves for a deleted object.
  fileprivate func values(in tombstone: [(UInt16, String)]) -> ChangeFeed.Values {
    ChangeFeed.Values(
      entity: self, attributes: attributes.map { value(of: $0.description, in: tombstone) },
      references: [], lists: [])
  }

  private func value(
    of property: PropertyDescription, in tombstone: [(UInt16, String)]
  ) -> StoredValue? {
    guard let number = storage.propertyNumbers[property.slot],
      case .attribute(let type, _) = property.kind,
      let text = tombstone.first(where: { $0.0 == number })?.1
    else { return nil }
    return type.preservedValue(text)
  }
}
