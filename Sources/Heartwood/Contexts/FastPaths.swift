/// A store context's fast paths, and counts of how often they were used.
///
/// To compare the results of the fast paths and the general paths, tests turn the fast paths off.
package struct FastPaths {
  /// A Boolean value that indicates whether the context uses fast paths.
  package var areOn = true
  /// The number of new objects whose rows were written without a ``RowChange``.
  package var insertionCount = 0
  /// The number of updated objects whose rows were written without a ``RowChange``.
  package var updateCount = 0
  /// The number of fetches that created objects for all rows without a search.
  package var fetchCount = 0
}
