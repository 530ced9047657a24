/// A change of the list of a ``FetchedResultsController``.
///
/// ```swift
/// for await change in controller.changes {
///   ids = ids.applying(change.difference) ?? []
/// }
/// ```
public struct ResultsChange: Sendable {
  /// The difference between the old and the new list: removed, inserted and moved objects.
  ///
  /// A moved object is removed and inserted, each associated with the other. The first save of an
  /// object changes its ID: the temporary ID is removed, and the permanent one is inserted.
  public let difference: CollectionDifference<ManagedObjectID>
  /// The objects that kept their position among the others, but have another value of an attribute
  /// or a to-one relationship than before, in list order.
  public let updated: [ManagedObjectID]
  /// The difference between the old and the new section names; empty without sections.
  public let sectionDifference: CollectionDifference<String?>
  /// The generation that the list shows now, on top of which are the context's changes; `nil` if it
  /// has no token, as in a child context.
  public let generation: QueryGenerationToken?
}
