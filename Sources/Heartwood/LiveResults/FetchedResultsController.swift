public import Foundation
public import Observation

/// A live list of the objects that match a fetch request.
///
/// ```swift
/// let controller = FetchedResultsController(
///   fetchRequest: FetchRequest<Quake>(sort: [SortDescriptor(\.time, order: .reverse)]),
///   context: container.viewContext)
/// try controller.performFetch()
/// for await change in controller.changes { … }
/// ```
///
/// On each access, the list equals the result of a fetch at that moment. Reading ``results`` or
/// starting a `for` loop over the controller captures the list at that moment. `controller[3]`,
/// `controller.prefix(10)` and ``results`` load only the objects that they return.
///
/// Updates examine only the objects that changed, unless the request depends on more than the
/// values of the objects themselves. `Docs/Guides/LiveResults.md` lists such requests. The
/// controller must be used on the thread of its context. The controller retains the generation that
/// it shows.
public final class FetchedResultsController<M: ManagedObject>: Observable {
  /// The fetch request.
  ///
  /// A new request takes effect at the next ``performFetch()``.
  public var fetchRequest: FetchRequest<M>
  /// The context of the objects.
  public let managedObjectContext: ManagedObjectContext
  /// The property whose values define the sections, or `nil` for no sections.
  public let sectionKeyPath: PartialKeyPath<M>?
  private var list: LiveList?
  private var feed: ResultsFeed?
  private let stream = ResultsStream()
  private let registrar = ObservationRegistrar()

  /// Creates a controller whose list is empty until ``performFetch()`` is called.
  ///
  /// - Parameters:
  ///   - fetchRequest: The request that selects and orders the objects.
  ///   - context: The context of the objects.
  ///   - sectionedBy: An attribute of the objects, or of an object reached through to-one
  ///     relationships. Objects with the same value form a section. The sections are in ascending
  ///     order of their values. If the first sort descriptor sorts by the same property, the
  ///     descriptor determines the order of the sections.
  public init(
    fetchRequest: FetchRequest<M>, context: ManagedObjectContext,
    sectionedBy: PartialKeyPath<M>? = nil
  ) {
    self.fetchRequest = fetchRequest
    managedObjectContext = context
    sectionKeyPath = sectionedBy
  }

  deinit {
    stream.finish()
    if let list { feed?.remove(list) }
  }

  /// Performs the fetch, and keeps the list up to date from then on.
  ///
  /// If the list has already been fetched, the differences are reported like any other change. If
  /// the store has been removed, the list is empty. The list stays empty until the store is added
  /// again and this method is called.
  ///
  /// - Throws: The same errors as ``ManagedObjectContext/fetch(_:)``; `unknownProperty` if the
  ///   section property cannot define sections.
  /// - Complexity: The same as ``ManagedObjectContext/fetchObjectIDs(_:)``.
  public func performFetch() throws {
    try managedObjectContext.performAndWait {
      let context = managedObjectContext
      try context.requireReadable()
      try context.mergeAutomatically()
      let storeContext = context.otherStoreContext(for: M.self) ?? context
      let query = try LiveQuery(fetchRequest, storeContext, section: sectionKeyPath)
      let feed = storeContext.resultsFeed
      let new = try feed.makeList(query)
      // Capture the controller weakly, because it owns the list and a strong capture would create a
      // reference cycle.
      new.didChange = { [weak self] in self?.notifyObservers(of: $0) }
      let old = list
      if let old { self.feed?.remove(old) }
      (list, self.feed) = (new, feed)
      if let old {
        if let change = new.change(from: old) { notifyObservers(of: change) }
      } else if new.count > 0 {
        notifyTrackedObservers()
      }
    }
  }

  // MARK: The list

  /// The objects that the list contains now, loaded as they are accessed.
  ///
  /// - Complexity: O(1), or O(objects) if objects were removed, inserted or moved since the last
  ///   use.
  public var results: ResultsList<M> { ResultsList(currentList()) }

  /// The objects, in the order of the request.
  ///
  /// - Complexity: O(objects), plus one row read for each object that has not been accessed before.
  ///   ``results`` avoids this cost.
  public var fetchedObjects: [M] {
    guard let list = currentList() else { return [] }
    return [M](list.objects(in: 0..<list.count))
  }

  /// The number of objects.
  ///
  /// - Complexity: O(1) if nothing has changed.
  public var count: Int { currentList()?.count ?? 0 }

  /// A Boolean value that indicates whether the list has no objects.
  ///
  /// - Complexity: O(1) if nothing has changed.
  public var isEmpty: Bool { count == 0 }

  /// The first object, or `nil` if the list is empty.
  ///
  /// - Complexity: O(log n), plus one row read if the object has not been accessed before.
  public var first: M? { currentList().flatMap { object(at: 0, in: $0) } }

  /// The last object, or `nil` if the list is empty.
  ///
  /// - Complexity: O(log n), plus one row read if the object has not been accessed before.
  public var last: M? { currentList().flatMap { object(at: $0.count - 1, in: $0) } }

  /// The IDs of the objects in order, without loading the objects.
  ///
  /// - Complexity: O(objects).
  public var objectIDs: [ManagedObjectID] { results.objectIDs }

  /// Returns the object at a position.
  ///
  /// - Precondition: The position is in the list.
  /// - Complexity: O(log n), plus one row read if the object has not been accessed before.
  public func object(at position: Int) -> M {
    guard let list = currentList(), let object = object(at: position, in: list) else {
      LiveList.reportMissing(position)
    }
    return object
  }

  /// The object at a position, as returned by ``object(at:)-(Int)``.
  ///
  /// Each access reads the current list. To access several positions of the same list, get
  /// ``results`` first.
  public subscript(position: Int) -> M { object(at: position) }

  private func object(at position: Int, in list: LiveList) -> M? {
    guard (0..<list.count).contains(position) else { return nil }
    return list.objects(in: position..<position + 1).first as? M
  }

  /// Returns the position of an object, or `nil` if it is not in the list.
  ///
  /// - Complexity: O(log n).
  public func index(of object: M) -> Int? {
    currentList().flatMap { position(of: object, in: $0) }
  }

  private func position(of object: M, in list: LiveList) -> Int? {
    object.source === list.storeContext ? list.position(of: object.number) : nil
  }

  /// Returns the position of the object with the given ID, or `nil` if it is not in the list.
  ///
  /// - Complexity: O(log n).
  public func index(of id: ManagedObjectID) -> Int? {
    guard let list = currentList(), list.storeContext.isOwn(id) else { return nil }
    return list.position(of: list.storeContext.resolved(id.number))
  }

  // MARK: Sections

  /// The sections in order, or one section with all objects if there is no section property.
  ///
  /// An empty list has no sections.
  ///
  /// - Complexity: The same as ``results``, plus O(sections).
  public var sections: [ResultsSection<M>] { results.sections }

  /// Returns the object at a position in a section.
  ///
  /// - Precondition: The section and the position exist.
  /// - Complexity: O(sections + log n), plus one row read if the object has not been accessed
  ///   before.
  public func object(at path: IndexPath) -> M {
    let list = currentList()
    let sections = list?.sections ?? []
    guard let list, path.count == 2, sections.indices.contains(path[0]),
      (0..<sections[path[0]].count).contains(path[1]),
      let object = object(at: sections[..<path[0]].reduce(path[1]) { $0 + $1.count }, in: list)
    else {
      fatalError(
        "The index path \(path) is not in the list. Pass the index of a section, followed by a "
          + "position from 0 to the section's count - 1.")
    }
    return object
  }

  /// Returns an object's section and its position in that section, or `nil` if the object is not in
  /// the list.
  ///
  /// - Complexity: O(sections + log n).
  public func indexPath(forObject object: M) -> IndexPath? {
    guard let list = currentList(), var position = position(of: object, in: list) else {
      return nil
    }
    for (index, section) in list.sections.enumerated() {
      if position < section.count { return IndexPath(indexes: [index, position]) }
      position -= section.count
    }
    return nil
  }

  // MARK: Changes

  /// A stream of all subsequent changes to the list, for one observer.
  ///
  /// The stream delivers each change once and in order, and buffers undelivered changes. A change
  /// is reported only if objects were removed, inserted or moved, or if their values changed. The
  /// stream ends when the controller is deallocated.
  public var changes: AsyncStream<ResultsChange> { stream.make() }

  /// The closure that is called immediately after each change, on the thread of the context.
  package var changeHandler: ((ResultsChange) -> Void)?

  /// The closure that is called to notify tracked observers.
  ///
  /// The closure must call its argument, which sends the notifications. For example, the closure
  /// can call its argument within an animation.
  package var updates: ((_ update: () -> Void) -> Void) = { update in update() }

  private func notifyObservers(of change: ResultsChange) {
    stream.notifyObservers(of: change)
    changeHandler?(change)
    if !change.difference.isEmpty { notifyTrackedObservers() }
  }

  private func notifyTrackedObservers() {
    updates {
      registrar.withMutation(of: self, keyPath: \.fetchedObjects) {}
      if sectionKeyPath != nil { registrar.withMutation(of: self, keyPath: \.sections) {} }
    }
  }

  /// Records an access to the list for observation tracking, without reading the list.
  package func recordRead() { registrar.access(self, keyPath: \.fetchedObjects) }

  /// Returns the list, after merging changes into the context if automatic merging is on.
  private func currentList() -> LiveList? {
    recordRead()
    guard list != nil else { return nil }
    managedObjectContext.performAndWait {
      do { try managedObjectContext.mergeAutomatically() } catch {
        managedObjectContext.recordFaultError(error)
      }
    }
    return list
  }

  /// The amount of work done for this list so far, for use in measurements.
  package var work: (examined: Int, evaluated: Int, comparisons: Int) {
    (feed?.examinedCount ?? 0, feed?.evaluationCount ?? 0, list?.tree.comparisons ?? 0)
  }
}

extension FetchedResultsController: Sequence {
  /// Returns an iterator over the objects that the list contains now.
  public func makeIterator() -> IndexingIterator<ResultsList<M>> { results.makeIterator() }
}

extension ManagedObjectContext {
  /// The feed that updates the lists of this store context.
  ///
  /// The feed is created on first use.
  fileprivate var resultsFeed: ResultsFeed {
    if let feed = follower as? ResultsFeed { return feed }
    return ResultsFeed(self)
  }
}
