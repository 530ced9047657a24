extension PersistentContainer {
  /// Compares the text indexes of all stores with the texts of the objects.
  ///
  /// Each index is built anew in memory, and compared with the stored one.
  ///
  /// - Returns: A sentence for each index that differs; an empty array if all are correct.
  /// - Throws: Errors from reading the stores; `corrupt` if an index cannot be decoded.
  /// - Complexity: Reads all objects of entities with a text index, and their indexes. The memory
  ///   is proportional to the size of the largest index.
  public func verifyTextIndexes() throws -> [String] {
    try group.attachedStores.flatMap { attached in
      let view = try StoreView(try attached.store.snapshot(), attached.model)
      return try TextIndexCheck(view: view).findings()
    }
  }
}
