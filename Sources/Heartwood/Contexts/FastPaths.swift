/// The fast paths of a store context, and counts of their use.
///
/// Tests turn the fast paths off to compare their results with the results of the general paths.
package struct FastPaths {
  /// A Boolean value that indicates whether the context uses fast paths.
  package var areOn = true
  /// The number of new objects whose rows were written without a ``RowChange``.
  package var insertionCount = 0
  /// The number of fetches that created the objects of all rows without a search.
  package var fetchCount = 0
}
