/// A switch that turns a store context's fast paths on or off, and counts of their uses.
///
/// Tests turn the fast paths off to check that the general paths produce the same results.
package struct FastPaths {
  /// A Boolean value that indicates whether the context uses fast paths.
  package var areOn = true
  /// The number of new objects whose rows the fast path has written, without a ``RowChange``.
  package var insertionCount = 0
  /// The number of updated objects whose rows the fast path has written, without a ``RowChange``.
  package var updateCount = 0
  /// The number of fetches that read every row of an entity and created the objects directly from
  /// the records.
  package var fetchCount = 0
}
