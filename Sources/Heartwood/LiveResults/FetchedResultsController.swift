public import Foundation
public import Observation

/// The objects that a request asks for, as a list that goes on with its context.
///
/// ```swift
/// let controller = FetchedResultsController(
///   fetchRequest: FetchRequest<Quake>(sort: [SortDescriptor(\.time, order: .reverse)]),
///   context: container.viewContext)
/// try controller.performFetch()
/// for await change in controller.changes { … }
/// ```
///
/// Whenever it is asked, it shows what a fetch would find at that moment. It comes to that by
/// looking at the objects that have changed, and at no others, unless the request asks for more
/// than the values of the objects themselves; `Docs/LiveResults.md` says which those are. It is
/// used by the thread of its context, and keeps the generation it shows readable.
public final class FetchedResultsController<M: ManagedObject>: Observable {
  /// What is asked for; another one counts from the next ``performFetch()`` on.
  public var fetchRequest: FetchRequest<M>
  /// The context that the objects are of.
  public let managedObjectContext: ManagedObjectContext
  /// The property whose values make sections; `nil` for no sections.
  public let sectionKeyPath: PartialKeyPath<M>?
  private var list: LiveList?
  private var feed: ResultsFeed?
  private let stream = ResultsStream()
  private let registrar = ObservationRegistrar()

  /// Describes a list, which is empty until ``performFetch()``.
  ///
  /// - Parameters:
  ///   - fetchRequest: Which objects, and in which order.
  ///   - context: The context whose objects they are.
  ///   - sectionBy: An attribute, perhaps of an object that to-one relationships lead to. Objects
  ///     with the same value are in one section, and sections in the order of the values: that of
  ///     the first sort descriptor if it is of the same property, and ascending if not.
  public init(
    fetchRequest: FetchRequest<M>, context: ManagedObjectContext,
    sectionBy: PartialKeyPath<M>? = nil
  ) {
    self.fetchRequest = fetchRequest
    managedObjectContext = context
    sectionKeyPath = sectionBy
  }

  deinit {
    stream.finish()
    if let list { feed?.remove(list) }
  }

  /// Fills the list, and has it follow the context from then on.
  ///
  /// If it was filled before, what is different then is a change like any other.
  ///
  /// - Throws: As ``ManagedObjectContext/fetch(_:)``; `unknownProperty` if there can be no sections
  ///   by the property.
  /// - Complexity: As a fetch of IDs.
  public func performFetch() throws {
    try managedObjectContext.performAndWait {
      let context = managedObjectContext
      try context.requireReadable()
      try context.mergeAutomatically()
      let part = context.otherPart(for: M.self) ?? context
      let query = try LiveQuery(fetchRequest, part, section: sectionKeyPath)
      let feed = part.resultsFeed
      let new = try feed.makeList(query)
      // Who is told before may have let go of this one.
      new.didChange = { [weak self] in self?.tell($0) }
      let old = list
      if let old { self.feed?.remove(old) }
      (list, self.feed) = (new, feed)
      if let change = old.flatMap({ new.change(from: $0) }) { tell(change) }
    }
  }

  // MARK: The list

  /// The objects, in the order of the request.
  ///
  /// - Complexity: O(objects), and one row read for each that was not asked for before. ``count``
  ///   and ``object(at:)-(Int)`` do without.
  public var fetchedObjects: [M] {
    guard let list = currentList() else { return [] }
    return [M](list.objects(in: 0..<list.count))
  }

  /// How many objects there are.
  ///
  /// - Complexity: O(1) if nothing has changed.
  public var count: Int { currentList()?.count ?? 0 }

  /// The IDs of the objects, in their order; no object is loaded.
  ///
  /// - Complexity: O(objects).
  public var objectIDs: [ManagedObjectID] {
    guard let list = currentList() else { return [] }
    return list.numbers().map { list.id($0) }
  }

  /// An object by its place.
  ///
  /// - Precondition: There is one.
  /// - Complexity: O(log n), and one row read if it was not asked for before.
  public func object(at position: Int) -> M {
    // Not a precondition: those do not say in release builds what is wrong.
    guard let list = currentList(), position >= 0, position < list.count,
      let object = list.objects(in: position..<position + 1).first as? M
    else { fatalError("Position \(position) is not in the list; compare with its count first.") }
    return object
  }

  /// The place of an object; `nil` if it is not in the list.
  ///
  /// - Complexity: O(log n).
  public func index(of object: M) -> Int? {
    guard let list = currentList(), object.source === list.part else { return nil }
    return list.position(of: object.number)
  }

  /// The place of the object of an ID; `nil` if it is not in the list.
  ///
  /// - Complexity: O(log n).
  public func index(of id: ManagedObjectID) -> Int? {
    guard let list = currentList(), list.part.isOwn(id) else { return nil }
    return list.position(of: list.part.resolved(id.number))
  }

  // MARK: Sections

  /// The sections, in their order; one of all objects without a property to make them by.
  ///
  /// - Complexity: O(sections).
  public var sections: [ResultsSection<M>] {
    guard let list = currentList() else { return [] }
    guard sectionKeyPath != nil else {
      guard list.count > 0 else { return [] }
      return [ResultsSection(name: nil, range: 0..<list.count, value: .null, list: list)]
    }
    var start = 0
    return list.sections.sections.map { section in
      defer { start += section.count }
      return ResultsSection(
        name: section.value.text, range: start..<start + section.count, value: section.value,
        list: list)
    }
  }

  /// An object by its section and its place in that.
  ///
  /// - Precondition: There is one.
  /// - Complexity: O(sections + log n), and one row read if it was not asked for before.
  public func object(at path: IndexPath) -> M {
    let sections = sections
    guard path.count == 2, sections.indices.contains(path[0]),
      (0..<sections[path[0]].count).contains(path[1])
    else { fatalError("\(path) is not in the list; compare with sections and their counts first.") }
    return object(at: sections[path[0]].range.lowerBound + path[1])
  }

  /// The section of an object and its place in that; `nil` if it is not in the list.
  ///
  /// - Complexity: O(sections + log n).
  public func indexPath(forObject object: M) -> IndexPath? {
    guard let position = index(of: object),
      let section = sections.enumerated().first(where: { $1.range.contains(position) })
    else { return nil }
    return IndexPath(indexes: [section.offset, position - section.element.range.lowerBound])
  }

  // MARK: Changes

  /// What changes from now on, for one listener; each change is given once, in their order.
  ///
  /// There is an element only if objects went, came, moved or have other values. What is not asked
  /// for is kept. It ends with the controller.
  public var changes: AsyncStream<ResultsChange> { stream.make() }

  /// Told of each change at once, on the thread of the context.
  package var listener: ((ResultsChange) -> Void)?

  private func tell(_ change: ResultsChange) {
    stream.tell(change)
    listener?(change)
    guard !change.difference.isEmpty else { return }
    registrar.withMutation(of: self, keyPath: \.fetchedObjects) {}
    if sectionKeyPath != nil { registrar.withMutation(of: self, keyPath: \.sections) {} }
  }

  /// The list as it has to be now.
  private func currentList() -> LiveList? {
    registrar.access(self, keyPath: \.fetchedObjects)
    guard list != nil else { return nil }
    managedObjectContext.performAndWait {
      do { try managedObjectContext.mergeAutomatically() } catch {
        managedObjectContext.noteUnreadable(error)
      }
    }
    return list
  }

  /// How much was done for it, for those who look at costs.
  package var work: (looks: Int, asked: Int, comparisons: Int) {
    (feed?.lookCount ?? 0, feed?.askedCount ?? 0, list?.tree.comparisons ?? 0)
  }
}

extension ManagedObjectContext {
  /// What tells the lists of this part.
  fileprivate var resultsFeed: ResultsFeed {
    if let feed = follower as? ResultsFeed { return feed }
    return ResultsFeed(self)
  }
}
