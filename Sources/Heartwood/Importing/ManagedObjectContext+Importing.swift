public import Foundation

extension ManagedObjectContext {
  /// Imports JSON elements, each of which updates the object with the same unique value or becomes
  /// a new object.
  ///
  /// ```swift
  /// var options = ImportOptions()
  /// options.elements = "features"
  /// options.keys = ["code": "id", "magnitude": "properties.mag"]
  /// let report = try context.upsert(Quake.self, matching: \.code, from: data, options)
  /// ```
  ///
  /// For each element, the import sets only the properties whose keys the element contains. A
  /// relationship is set from nested objects, or from values of a unique attribute. Nested objects
  /// are likewise matched by a unique attribute, or created. The import makes one commit, with this
  /// context's author. Like a save, the import calls the objects' callback methods. This context's
  /// unsaved changes are neither written nor modified.
  ///
  /// - Parameters:
  ///   - type: The class of the objects.
  ///   - keyPath: An attribute that is unique on its own, not only in combination with other
  ///     attributes.
  ///   - data: JSON in UTF-8: an array of objects, or a sequence of objects such as JSON lines.
  ///   - options: The options.
  /// - Returns: A report that counts the new, changed, unchanged and refused elements.
  /// - Throws: `invalidElement` if the text is not JSON, or if an element cannot be imported and
  ///   invalid elements are not skipped; `unknownProperty` if the attribute is not unique, or a
  ///   path is given for an unknown property; any error from writing the store. The message for an
  ///   invalid element contains the path to the value. If the method throws, nothing is saved.
  /// - Complexity: For each element, the cost of finding and saving its objects. Memory use does
  ///   not grow with the number of elements.
  @discardableResult
  public func upsert<M: ManagedObject, Value: AttributeValue>(
    _ type: M.Type = M.self, matching keyPath: KeyPath<M, Value>, from data: Data,
    _ options: ImportOptions = ImportOptions()
  ) throws -> ImportReport {
    var rest = data[...]
    return try upsert(type, matching: keyPath, options) {
      defer { rest = rest.dropFirst(FileHandle.chunkByteCount) }
      return [UInt8](rest.prefix(FileHandle.chunkByteCount))
    }
  }

  /// Imports the JSON elements in a file.
  ///
  /// The file is read as the import proceeds.
  ///
  /// - Parameters:
  ///   - type: The class of the objects.
  ///   - keyPath: An attribute that is unique on its own, not only in combination with other
  ///     attributes.
  ///   - file: The URL of the file to import.
  ///   - options: The options.
  /// - Throws: The same errors as importing `Data`; any error from reading the file.
  @discardableResult
  public func upsert<M: ManagedObject, Value: AttributeValue>(
    _ type: M.Type = M.self, matching keyPath: KeyPath<M, Value>, contentsOf file: URL,
    _ options: ImportOptions = ImportOptions()
  ) throws -> ImportReport {
    let handle = try FileHandle(forReadingFrom: file)
    defer { try? handle.close() }
    return try upsert(type, matching: keyPath, options) { try handle.readChunk() }
  }

  /// Imports JSON elements from chunks of bytes that arrive asynchronously, such as chunks of a
  /// download.
  ///
  /// All bytes are first written to a temporary file so that a slow sender does not delay other
  /// writers.
  ///
  /// - Parameters:
  ///   - type: The class of the objects.
  ///   - keyPath: An attribute that is unique on its own, not only in combination with other
  ///     attributes.
  ///   - chunks: Chunks of any size, such as `Data` or arrays of bytes.
  ///   - options: The options.
  /// - Throws: The same errors as importing `Data`; any error from `chunks` or the file;
  ///   `CancellationError`.
  @discardableResult
  public nonisolated(nonsending) func upsert<M: ManagedObject, Value: AttributeValue, Chunks>(
    _ type: M.Type = M.self, matching keyPath: KeyPath<M, Value>, from chunks: Chunks,
    _ options: ImportOptions = ImportOptions()
  ) async throws -> ImportReport
  where Chunks: AsyncSequence, Chunks.Element: Sequence, Chunks.Element.Element == UInt8 {
    let file = try TemporaryFile()
    for try await chunk in chunks { try file.append(chunk) }
    // Check for cancellation, because a cancelled sequence may end without an error.
    try Task.checkCancellation()
    return try upsert(type, matching: keyPath, options, file.reader())
  }

  /// Imports JSON elements from single bytes that arrive asynchronously.
  ///
  /// Importing chunks of bytes has the same effect and is faster.
  @discardableResult
  public nonisolated(nonsending) func upsert<M: ManagedObject, Value: AttributeValue, Bytes>(
    _ type: M.Type = M.self, matching keyPath: KeyPath<M, Value>, from bytes: Bytes,
    _ options: ImportOptions = ImportOptions()
  ) async throws -> ImportReport where Bytes: AsyncSequence, Bytes.Element == UInt8 {
    let file = try TemporaryFile()
    for try await byte in bytes { try file.append(CollectionOfOne(byte)) }
    try Task.checkCancellation()
    return try upsert(type, matching: keyPath, options, file.reader())
  }

  private func upsert<M: ManagedObject>(
    _ type: M.Type, matching keyPath: PartialKeyPath<M>, _ options: ImportOptions,
    _ read: @escaping () throws -> [UInt8]
  ) throws -> ImportReport {
    confinement?.enter()
    defer { confinement?.leave() }
    if let storeContext = otherStoreContext(for: M.self) {
      return try storeContext.upsert(type, matching: keyPath, options, read)
    }
    guard parent == nil else {
      throw ObjectGraphError(
        .childContext,
        "A child context cannot import objects, because its saves do not write to the store. "
          + "Import with the root context instead.")
    }
    let entity = try model.schema.requiredEntity(of: M.self)
    let property = try model.schema.property(keyPath, of: entity)
    let elements = JSONElements(keys: options.elementKeys, read)
    let plan = try ImportPlan(entity, model.schema, keys: options.keys)
    var report = ImportReport()
    _ = try write { transaction in
      try Self.run(store, model, within: transaction) { work in
        work.transactionAuthor = transactionAuthor
        work.name = name
        work.mergePolicy = mergePolicy
        var run = ImportRun(work, plan, matching: property, options, elements)
        report = try run.run()
      }
    }
    // Within a transaction, row versions do not reveal which rows were changed, so refresh all
    // objects.
    if case .within = pin { refreshAllObjects() }
    processPendingChanges()
    return report
  }
}

extension ImportOptions {
  fileprivate var elementKeys: [String] {
    elements.map { $0.split(separator: ".").map(String.init) } ?? []
  }
}
