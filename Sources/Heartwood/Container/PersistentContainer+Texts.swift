extension PersistentContainer {
  /// Compares the text indexes of all stores with the texts of the objects.
  ///
  /// - Returns: A sentence for each index that differs; an empty array if all are correct.
  /// - Throws: Any error from reading the stores; `corrupt` if an index cannot be decoded.
  /// - Complexity: Reads each object that has a text index, and the indexes, once, or twice if
  ///   there is a difference. Memory use does not depend on the number of objects.
  public func verifyTextIndexes() throws -> [String] {
    try group.attachedStores.flatMap { attached in
      let view = try StoreView(try attached.store.snapshot(), attached.model)
      return try TextIndexCheck(view: view).findings()
    }
  }
}
