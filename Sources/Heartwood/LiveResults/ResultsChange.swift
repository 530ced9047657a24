/// A change to the list of a ``FetchedResultsController``.
///
/// ```swift
/// for await change in controller.changes {
///   ids = ids.applying(change.difference) ?? []
/// }
/// ```
public struct ResultsChange: Sendable {
  /// The difference between the old and the new list: removed, inserted and moved objects.
  ///
  /// A moved object is both removed and inserted, and the two changes are associated with each
  /// other. The first save of an object changes its ID: the temporary ID is removed, and the
  /// permanent ID is inserted.
  public let difference: CollectionDifference<ManagedObjectID>
  /// The IDs of the objects whose attributes or to-one relationships have changed, in list order.
  ///
  /// Removed, inserted and moved objects are not included.
  public let updated: [ManagedObjectID]
  /// The difference between the old and new section names.
  ///
  /// The difference is empty if there are no sections.
  public let sectionDifference: CollectionDifference<String?>
  /// The generation that the list now shows.
  ///
  /// The list also reflects the context's unsaved changes. This property is `nil` if the generation
  /// has no token. In a child context, the property is always `nil`.
  public let generation: QueryGenerationToken?
}
