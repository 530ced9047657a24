import Foundation

/// A reader that returns the available events of a container's stores without waiting for new
/// events.
///
/// The transactions of one store are in commit order. Available transactions of different stores
/// are ordered by time.
package struct FeedReader {
  private let group: StoreGroup
  private let values: ChangeFeed.IncludedValues
  private var stores: [StoreFeed] = []
  /// The index of the store that must return the next event, or `nil` if any store can.
  ///
  /// The events of one transaction are returned consecutively, as are the events for a store's
  /// existing objects.
  private var current: Int?

  /// Creates a reader of the events of all stores in a group.
  ///
  /// - Parameter start: A closure that returns the position at which a store's feed begins.
  /// - Throws: The same errors as ``StoreFeed``.
  init(
    _ group: StoreGroup, _ values: ChangeFeed.IncludedValues,
    from start: (StoreGroup.AttachedStore) -> StoreFeed.Start
  ) throws {
    self.group = group
    self.values = values
    stores = try group.attachedStores.map { try StoreFeed($0, from: start($0), values) }
    current = stores.firstIndex(where: \.isReadingExisting)
  }

  /// Returns the next event, or `nil` if no event is available yet.
  ///
  /// - Throws: `historyExpired` if the next transactions have been deleted; `incompatibleSchema` if
  ///   a store's model has changed; any error from reading the store.
  package mutating func next() throws -> ChangeFeed.Event? {
    if current == nil { current = try nextStore() }
    guard let index = current else { return nil }
    let start = token
    var event = try stores[index].next()
    let isLast = event?.isLast == true
    if isLast { current = stores.firstIndex(where: \.isReadingExisting) }
    event?.token = isLast ? token : start
    return event
  }

  /// The position in each store's history, or `nil` while existing objects are being read.
  private var token: PersistentHistoryToken? {
    guard stores.count > 1 else {
      guard let store = stores.first, !store.isReadingExisting else { return nil }
      return store.position.map {
        PersistentHistoryToken(store: store.attached.model.space.store, $0)
      }
    }
    guard !stores.contains(where: \.isReadingExisting) else { return nil }
    var positions: [UUID: HistoryPosition] = [:]
    for store in stores { positions[store.attached.model.space.store] = store.position }
    return PersistentHistoryToken(positions)
  }

  /// Returns the index of the store whose next transaction is the oldest, or `nil` if there are no
  /// transactions yet.
  private mutating func nextStore() throws -> Int? {
    let attachedStores = group.attachedStores
    stores.removeAll { known in !attachedStores.contains { $0.model === known.attached.model } }
    for new in attachedStores.dropFirst(stores.count) {
      stores.append(try StoreFeed(new, from: .position(nil), values))
    }
    var oldest: (index: Int, time: Double)?
    for index in stores.indices {
      guard let time = try stores[index].nextTime() else { continue }
      if oldest.map({ time < $0.time }) ?? true { oldest = (index, time) }
    }
    return oldest?.index
  }

  /// Releases the generations held by the reader.
  ///
  /// The feed then continues with the newest generations.
  ///
  /// - Throws: `generationExpired` if some existing objects of a generation have not been returned
  ///   yet.
  mutating func restart() throws {
    for index in stores.indices { try stores[index].restart() }
  }
}
