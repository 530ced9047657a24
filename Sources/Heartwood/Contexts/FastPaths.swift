/// The fast paths of a store context, and counts of their use.
///
/// Tests compare the results of the fast paths with those of the general paths by turning the fast
/// paths off.
package struct FastPaths {
  /// A Boolean value that indicates whether the context uses fast paths.
  package var areOn = true
  /// The number of new objects whose rows were written without a ``RowChange``.
  package var insertionCount = 0
  /// The number of fetches that created the objects of all rows without a search.
  package var fetchCount = 0
}
