#if canImport(SwiftUI)
  public import Heartwood
  public import SwiftUI

  extension EnvironmentValues {
    private struct ObjectContextKey: EnvironmentKey {
      static var defaultValue: ManagedObjectContext? { nil }
    }

    private struct ContainerKey: EnvironmentKey {
      static var defaultValue: PersistentContainer? { nil }
    }

    /// The context whose objects a view shows, or `nil` if no enclosing view has set a context.
    ///
    /// For example, a sheet can set a child context so that its edits can be discarded. Turn on
    /// `tracksObservation` in the child context, so that views are updated when its objects change.
    public var objectContext: ManagedObjectContext? {
      get { self[ObjectContextKey.self] }
      set { self[ObjectContextKey.self] = newValue }
    }

    /// The container of the context.
    ///
    /// The container must exist for as long as the context is used.
    var persistentContainer: PersistentContainer? {
      get { self[ContainerKey.self] }
      set { self[ContainerKey.self] = newValue }
    }
  }

  extension View {
    /// Makes a container's view context the context of this view and of all views inside it.
    ///
    /// The method also turns on `tracksObservation` and `automaticallyMergesChangesFromParent` in
    /// the context. Views are therefore updated when their objects change in any context or
    /// process.
    @MainActor
    public func persistentContainer(_ container: PersistentContainer) -> some View {
      let context = container.viewContext
      context.tracksObservation = true
      context.automaticallyMergesChangesFromParent = true
      return environment(\.objectContext, context).environment(\.persistentContainer, container)
    }
  }

  extension PersistentContainer {
    /// Returns an in-memory container with sample objects, for previews.
    ///
    /// ```swift
    /// #Preview {
    ///   NoteList().persistentContainer(
    ///     .preview(Note.self) { context in Note(context: context).text = "milk" })
    /// }
    /// ```
    ///
    /// If an error occurs, the preview stops and shows the error.
    @MainActor
    public static func preview(
      _ types: ManagedObject.Type..., fill: (ManagedObjectContext) throws -> Void
    ) -> PersistentContainer {
      do {
        let container = try PersistentContainer.inMemory(schema: Schema(types: types))
        try fill(container.viewContext)
        try container.viewContext.save()
        return container
      } catch {
        fatalError("The objects for the preview could not be created: \(error)")
      }
    }
  }
#endif
