#if canImport(SwiftUI)
  public import Foundation
  public import Heartwood
  public import SwiftUI

  /// A property wrapper that fetches a list of objects for a view and keeps the list up to date.
  ///
  /// ```swift
  /// struct NoteList: View {
  ///   @Fetched(sort: [SortDescriptor(\Note.date, order: .reverse)]) private var notes
  ///
  ///   var body: some View {
  ///     List(notes) { note in Text(note.text) }
  ///   }
  /// }
  /// ```
  ///
  /// The list is a ``ResultsList``, a collection that loads objects as rows appear on screen. The
  /// list can be divided into sections. When any context or process changes the fetch's result or a
  /// property that the view has read, the view is updated with a new list. The context comes from
  /// the environment; see ``SwiftUICore/View/persistentContainer(_:)``.
  ///
  /// If the fetch fails, the list is empty, and `$notes` is the error.
  @propertyWrapper
  public struct Fetched<M: ManagedObject>: DynamicProperty {
    @Environment(\.objectContext) private var context
    @State private var list = FetchedList<M>()
    private let request: FetchRequest<M>
    private let sectionKeyPath: PartialKeyPath<M>?
    private let id: AnyHashable?
    private let animation: Animation?

    /// Creates a list of the objects that match a predicate.
    ///
    /// - Parameters:
    ///   - predicate: The condition, or `nil` for all objects.
    ///   - sort: The sort order.
    ///   - limit: The maximum number of objects, or `nil` for no limit.
    ///   - sectionedBy: The property whose values define the sections, or `nil` for no sections.
    ///   - id: A value that identifies the request, such as the text of a search field. When the
    ///     value changes, the view fetches a new list. Until then, the view uses its first request.
    ///   - animation: The animation for changes to the list.
    public init(
      where predicate: Foundation.Predicate<M>? = nil, sort: [SortDescriptor<M>] = [],
      limit: Int? = nil, sectionedBy: PartialKeyPath<M>? = nil, id: AnyHashable? = nil,
      animation: Animation? = nil
    ) {
      self.init(
        FetchRequest(where: predicate, sort: sort, limit: limit), sectionedBy: sectionedBy, id: id,
        animation: animation)
    }

    /// Creates a list of the objects that match a request.
    ///
    /// The other parameters have the same meanings as in the initialiser that takes a predicate.
    public init(
      _ request: FetchRequest<M>, sectionedBy: PartialKeyPath<M>? = nil, id: AnyHashable? = nil,
      animation: Animation? = nil
    ) {
      self.request = request
      sectionKeyPath = sectionedBy
      self.id = id
      self.animation = animation
    }

    /// The objects, in the order specified by the request.
    ///
    /// The list stays the same until SwiftUI updates the view. Positions reported by the view's
    /// controls, for example to `onDelete`, therefore refer to the objects shown in the view.
    @MainActor public var wrappedValue: ResultsList<M> { list.results(of: controller) }

    /// Discards the list that the view has read, so that the view reads the current list.
    ///
    /// SwiftUI calls this method before it evaluates the view's body.
    public func update() { list.forgetResults() }

    @MainActor private var controller: FetchedResultsController<M> {
      guard let context else {
        fatalError(
          "A view uses @Fetched without a context. Add .persistentContainer(container) to this "
            + "view or to one of its ancestors.")
      }
      return list.controller(id, context) {
        let controller = FetchedResultsController(
          fetchRequest: request, context: context, sectionedBy: sectionKeyPath)
        if let animation {
          controller.updates = { update in withAnimation(animation) { update() } }
        }
        return controller
      }
    }

    /// The error from the fetch, or `nil` if the fetch succeeded.
    @MainActor public var projectedValue: (any Error)? {
      _ = controller
      return list.error
    }
  }

  /// An object that retains a view's results controller for as long as the view exists.
  @MainActor final class FetchedList<M: ManagedObject> {
    private var controller: FetchedResultsController<M>?
    private var id: AnyHashable?
    private(set) var error: (any Error)?
    /// The list that the view shows, or `nil` if the view has not read it since its last update.
    private var results: ResultsList<M>?

    nonisolated init() {}

    nonisolated func forgetResults() { MainActor.assumeIsolated { results = nil } }

    /// Returns the list that the view shows, and records that the view has read it.
    func results(of controller: FetchedResultsController<M>) -> ResultsList<M> {
      if let results {
        controller.recordRead()
        return results
      }
      let new = controller.results
      results = new
      return new
    }

    /// Returns the controller for a request.
    ///
    /// If the view has no controller for this request and context, the method creates one and
    /// performs the fetch.
    func controller(
      _ id: AnyHashable?, _ context: ManagedObjectContext,
      _ make: () -> FetchedResultsController<M>
    ) -> FetchedResultsController<M> {
      if let controller, self.id == id, controller.managedObjectContext === context {
        return controller
      }
      let new = make()
      error = nil
      do { try new.performFetch() } catch { self.error = error }
      (controller, self.id, results) = (new, id, nil)
      return new
    }
  }
#endif
