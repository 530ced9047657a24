public import Foundation

extension ManagedObjectContext {
  /// Exports the attributes and to-one relationships of the objects that match a request.
  ///
  /// ```swift
  /// try context.export(FetchRequest<Quake>(), as: .jsonLines) { try socket.send($0) }
  /// ```
  ///
  /// All rows come from one generation. Unsaved changes are included, unless the request excludes
  /// them. A relationship is exported as the value of its destination's unique attribute. If the
  /// destination has several unique attributes, the relationship is exported as a JSON object that
  /// contains one of them. JSON written by this method can be imported.
  ///
  /// The export omits the objects' classes and any relationship to objects without unique
  /// attributes. The export also omits properties that only a subclass declares. To include these
  /// properties, export each class separately.
  ///
  /// - Parameters:
  ///   - request: The request that selects and orders the objects.
  ///   - format: The format.
  ///   - dates: The format of dates, or `nil` for ISO 8601 with fractional seconds if necessary.
  ///   - output: A closure that is called with successive chunks of UTF-8 text.
  /// - Returns: The number of objects.
  /// - Throws: The same errors as ``fetch(_:)``; any error from `output`; `validation` if a CSV
  ///   field cannot represent a relationship, because the related object has no value for its
  ///   unique attribute.
  /// - Complexity: The same as ``fetch(_:)``. Memory use grows with the number of objects only if
  ///   the request has sort descriptors, a limit or an offset.
  @discardableResult
  public func export<M: ManagedObject>(
    _ request: FetchRequest<M>, as format: ExportFormat,
    dates: JSONEncoder.DateEncodingStrategy? = nil, to output: (Data) throws -> Void
  ) throws -> Int {
    let storeContext = otherStoreContext(for: M.self) ?? self
    let entity = try request.entity(in: storeContext.model.schema)
    let columns = ExportedColumns(entity, storeContext.model)
    return try withoutActuallyEscaping(output) { output in
      let writer = ExportWriter(format, columns, dates, output)
      try writer.begin()
      let isOrdered = !request.sortDescriptors.isEmpty
      try forEachRow(
        request,
        { plan, model in try columns.values(plan, model, format) },
        inOrder: isOrdered
      ) { try writer.add($0) }
      try writer.end()
      return writer.count
    }
  }
}

extension ManagedObjectContext {
  /// Writes a file that contains the attributes and to-one relationships of the objects that match
  /// a request.
  ///
  /// ```swift
  /// try context.export(FetchRequest<Quake>(), as: .csv, to: URL(filePath: "quakes.csv"))
  /// ```
  ///
  /// The file is replaced only after everything has been written. If the method throws, the file is
  /// unchanged.
  ///
  /// - Parameters:
  ///   - request: The request that selects and orders the objects.
  ///   - format: The format.
  ///   - dates: The format of dates, or `nil` for ISO 8601 with fractional seconds if necessary.
  ///   - file: The file, which is created if it does not exist.
  /// - Returns: The number of objects.
  /// - Throws: The same errors as ``fetch(_:)``; `validation` if a CSV field cannot represent a
  ///   relationship; `CocoaError` if the file cannot be written.
  @discardableResult
  public func export<M: ManagedObject>(
    _ request: FetchRequest<M>, as format: ExportFormat,
    dates: JSONEncoder.DateEncodingStrategy? = nil, to file: URL
  ) throws -> Int {
    let new = file.deletingLastPathComponent()
      .appending(path: ".\(file.lastPathComponent).heartwood-\(UUID().uuidString)")
    do {
      try Data().write(to: new, options: .withoutOverwriting)
      let handle = try FileHandle(forWritingTo: new)
      defer { try? handle.close() }
      let count = try export(request, as: format, dates: dates) { try handle.write(contentsOf: $0) }
      try handle.synchronize()
      guard rename(new.path(percentEncoded: false), file.path(percentEncoded: false)) == 0 else {
        throw CocoaError(
          .fileWriteUnknown, userInfo: [NSFilePathErrorKey: file.path(percentEncoded: false)])
      }
      return count
    } catch {
      try? FileManager.default.removeItem(at: new)
      throw error
    }
  }
}

/// A writer that outputs an export's rows in chunks of about 64 KiB.
private final class ExportWriter {
  private(set) var count = 0
  private let format: ExportFormat
  private let columns: ExportedColumns
  private let output: (Data) throws -> Void
  private let encoder = JSONEncoder()
  private var pending = Data()

  private static let pieceByteCount = 1 << 16

  init(
    _ format: ExportFormat, _ columns: ExportedColumns, _ dates: JSONEncoder.DateEncodingStrategy?,
    _ output: @escaping (Data) throws -> Void
  ) {
    self.format = format
    self.columns = columns
    self.output = output
    encoder.dateEncodingStrategy = dates ?? ExactDates.encoding
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    encoder.nonConformingFloatEncodingStrategy = JSONCoding.encodedFloats
  }

  func begin() throws {
    switch format {
    case .json: append("[")
    case .jsonLines: break
    case .csv: append(columns.columns.map { CSVField.text($0.property.name) }, "\r\n")
    }
  }

  func add(_ row: [StoredValue]) throws {
    switch format {
    case .json, .jsonLines:
      if format == .json { append(count == 0 ? "\n" : ",\n") }
      pending += try encoder.encode(ExportedRow(columns: columns, values: row))
      if format == .jsonLines { append("\n") }
    case .csv:
      let fields = try zip(columns.columns, row).map { column, value in
        CSVField.text(try columns.text(value, column, encoder))
      }
      append(fields, "\r\n")
    }
    count += 1
    if pending.count >= Self.pieceByteCount { try flush() }
  }

  func end() throws {
    if format == .json { append("\n]\n") }
    if !pending.isEmpty { try flush() }
  }

  private func append(_ text: String) { pending += Data(text.utf8) }

  private func append(_ fields: [String], _ end: String) {
    append(fields.joined(separator: ",") + end)
  }

  private func flush() throws {
    try output(pending)
    pending.removeAll(keepingCapacity: true)
  }
}
