/// How the list of a ``FetchedResultsController`` has changed.
///
/// ```swift
/// for await change in controller.changes {
///   ids = ids.applying(change.difference) ?? []
/// }
/// ```
public struct ResultsChange: Sendable {
  /// What leads from the list before to the list after: which objects went, came and moved.
  ///
  /// One that has moved is taken out and put in, each associated with the other. An object that was
  /// saved for the first time has another ID from then on: the temporary one goes, the lasting one
  /// comes.
  public let difference: CollectionDifference<ManagedObjectID>
  /// Objects that are where they were among the others, with an attribute or a to-one relationship
  /// of another value than before, in the order of the list.
  public let updated: [ManagedObjectID]
  /// What leads from the names of the sections before to those after; empty without sections.
  public let sectionDifference: CollectionDifference<String?>
  /// The generation that the list shows now, with what the context has changed; `nil` if it cannot
  /// be named, as in a context below another.
  public let generation: QueryGenerationToken?
}
