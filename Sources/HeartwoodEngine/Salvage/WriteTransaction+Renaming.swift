extension WriteTransaction {
  /// Renames a keyspace.
  ///
  /// If there is no keyspace named `name`, the method does nothing.
  ///
  /// - Precondition: The transaction has not yet used either name.
  /// - Throws: `invalidArgument` if there is already a keyspace with the new name, or `corrupt`,
  ///   `io` or `diskFull`.
  package func renameKeyspace(_ name: String, to newName: String) throws(StorageError) {
    session.requireOpen()
    guard let row = try Catalog.row(name, in: session.pages.view) else { return }
    guard try Catalog.row(newName, in: session.pages.view) == nil else {
      throw StorageError(
        .invalidArgument,
        "There is already a keyspace named \"\(newName)\". Choose a different name.")
    }
    try session.changing { () throws(StorageError) in
      let catalog = TreeWriter(pages: session.pages, root: Catalog.root)
      _ = try withSearchBytes(name) { key throws(StorageError) in
        try catalog.delete(SearchKey(key))
      }
      try Catalog.set(row, of: newName, in: session.pages)
    }
  }
}
