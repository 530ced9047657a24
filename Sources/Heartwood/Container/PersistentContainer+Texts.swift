extension PersistentContainer {
  /// Compares the text indexes of all stores with the objects' text.
  ///
  /// - Returns: A description of each incorrect index, or an empty array if all indexes are
  ///   correct.
  /// - Throws: Any error from reading the stores; `corrupt` if an index cannot be decoded.
  /// - Complexity: Reads the indexes and each object with indexed text once, or twice if there is a
  ///   difference. Memory use does not depend on the number of objects.
  public func verifyTextIndexes() throws -> [String] {
    try group.attachedStores.flatMap { attached in
      let view = try StoreView(try attached.store.snapshot(), attached.model)
      return try TextIndexCheck(view: view).findings()
    }
  }
}
