import Foundation

extension StoredObjects {
  /// The format of imported text.
  package enum ImportSource {
    /// JSON: an array, or a sequence of objects such as JSON lines.
    case json
    /// Comma-separated values with a header, as in ``ExportFormat/csv``.
    case csv
  }

  /// Imports elements, each of which updates the object with the same unique value or becomes a new
  /// object.
  ///
  /// - Parameters:
  ///   - entity: The name of the entity.
  ///   - key: The name of the unique attribute by which objects are found, or `nil` to use the
  ///     first unique attribute that is not optional.
  ///   - skipsInvalid: Whether elements that cannot be decoded, or that violate a rule of the
  ///     model, are listed in the report instead of ending the import.
  ///   - progress: A closure that is called with the number of elements read so far, about once per
  ///     thousand elements.
  ///   - rewind: A closure that rewinds to the beginning of the text. The method calls the closure
  ///     if an element turns out to be invalid only after the end of the text. The elements are
  ///     then imported again, without the invalid ones.
  ///   - read: A closure that returns the next bytes of the text, or no bytes at the end of the
  ///     text.
  /// - Throws: `invalidElement` with the path to the value; `unknownEntity`, `unknownProperty`,
  ///   `constraintConflict`; any error from reading or writing the store. If the method throws, the
  ///   store is unchanged.
  package func importElements(
    _ source: ImportSource, of entity: String, matching key: String?, author: String?,
    skipsInvalid: Bool, progress: ((Int) -> Void)? = nil, rewind: () throws -> Void,
    _ read: @escaping () throws -> [UInt8]
  ) throws -> ImportReport {
    guard let entity = model.schema.entity(named: entity) else {
      throw ObjectGraphError(
        .unknownEntity,
        "The store has no entity named \(entity). Use the name of an existing entity.")
    }
    let property = try matchingProperty(key, of: entity)
    let plan = try ImportPlan(entity, model.schema)
    plan.reportsIgnoredKeys = true
    func refuse(_ position: Int, _ error: any Error) throws {
      let isOfElement =
        error is DecodingError || (error as? ObjectGraphError)?.isOfElement == true
      guard skipsInvalid, isOfElement else { throw ImportReport.invalid(position, error) }
    }
    var refused: [Int: any Error] = [:]
    while true {
      let rows: any ImportedRows =
        switch source {
        case .json: JSONRows(plan, read)
        case .csv: try CSVRows(plan, self, read)
        }
      do {
        return try importRows(rows, matching: property, author, refused, progress, refuse)
      } catch let late as StoredImport.LateRefusals {
        refused.merge(late.errors) { first, _ in first }
        try rewind()
      }
    }
  }

  /// Imports rows in one transaction.
  ///
  /// - Parameters:
  ///   - refused: The errors of the elements that are known to be invalid, keyed by position.
  ///   - refuse: A closure that throws an element's error, or returns if invalid elements are
  ///     skipped.
  /// - Throws: ``StoredImport/LateRefusals`` if elements turn out to be invalid after the last row
  ///   has been read.
  private func importRows(
    _ imported: any ImportedRows, matching property: PropertyDescription, _ author: String?,
    _ refused: [Int: any Error], _ progress: ((Int) -> Void)?,
    _ refuse: (Int, any Error) throws -> Void
  ) throws -> ImportReport {
    let context = container.newContext()
    context.transactionAuthor = author
    var rows = imported
    var report = ImportReport()
    _ = try context.write { transaction in
      var work = StoredImport(BatchRun(context, transaction))
      var position = 0
      while true {
        do {
          guard let row = try rows.next() else { break }
          if let error = refused[position] { throw error }
          try work.apply(row, matching: property, at: position)
        } catch let error as StorageError {
          throw error
        } catch {
          try refuse(position, error)
          work.refuse(position, error)
        }
        position += 1
        if position % 1000 == 0 { progress?(position) }
      }
      report = try work.finish(refuse)
    }
    return report
  }

  private func matchingProperty(
    _ name: String?, of entity: EntityDescription
  ) throws -> PropertyDescription {
    let unique = entity.uniqueProperties
    let found = name.map { name in unique.first { $0.name == name } } ?? entity.referringAttribute
    if let found { return found }
    let names = unique.map(\.name).joined(separator: ", ")
    throw ObjectGraphError(
      .unknownProperty,
      names.isEmpty
        ? "\(entity.name) has no attribute with its own unique constraint, so elements cannot be "
          + "matched with existing objects. Declare a unique constraint on one attribute."
        : "\(name ?? "") is not an attribute of \(entity.name), or does not have its own unique "
          + "constraint. Use one of: \(names).")
  }
}

extension ObjectGraphError {
  /// A Boolean value that indicates whether the error concerns only one element of an import.
  fileprivate var isOfElement: Bool {
    [.constraintConflict, .validation, .foreignObject, .unknownEntity].contains(kind)
  }
}

/// A sequence of rows that are read from imported text.
private protocol ImportedRows {
  /// Returns the next row, or `nil` if there are no more rows.
  ///
  /// - Throws: `DecodingError` if a row cannot be decoded, in which case you can continue with the
  ///   next row; any other error if reading the text or splitting it into rows fails.
  mutating func next() throws -> ImportedRow?
}

private struct JSONRows: ImportedRows {
  private var elements: JSONElements
  private let decoder = JSONDecoder()

  init(_ plan: ImportPlan, _ read: @escaping () throws -> [UInt8]) {
    elements = JSONElements(keys: [], read)
    decoder.dateDecodingStrategy = ExactDates.decoding
    decoder.nonConformingFloatDecodingStrategy = JSONCoding.decodedFloats
    decoder.userInfo[ImportedElement.planKey] = plan
  }

  mutating func next() throws -> ImportedRow? {
    guard let element = try elements.next() else { return nil }
    return try decoder.decode(ImportedElement.self, from: Data(element)).row
  }
}

private struct CSVRows: ImportedRows {
  private var records: CSVRecords
  private let plan: ImportPlan
  private let objects: StoredObjects
  private let columns: [PropertyDescription]

  init(
    _ plan: ImportPlan, _ objects: StoredObjects, _ read: @escaping () throws -> [UInt8]
  ) throws {
    records = CSVRecords(read)
    self.plan = plan
    self.objects = objects
    let names = try records.next() ?? []
    columns = try names.map { name in
      guard let name else {
        throw ObjectGraphError(
          .unknownProperty,
          "The header contains a column without a name. Add the name of an attribute or to-one "
            + "relationship of \(plan.entity.name), or remove the column.")
      }
      let own = plan.name(name)
      guard let property = plan.entity.columns.first(where: { $0.name == own }) else {
        throw ObjectGraphError(
          .unknownProperty,
          "The header contains \(name), but \(plan.entity.name) has no such attribute or to-one "
            + "relationship. Correct the header.")
      }
      return property
    }
    var known: Set<Int> = []
    if let twice = columns.first(where: { !known.insert($0.slot).inserted }) {
      throw ObjectGraphError(
        .unknownProperty,
        "The header contains two columns for \(plan.entity.name).\(twice.name). Remove one of "
          + "them.")
    }
  }

  mutating func next() throws -> ImportedRow? {
    guard let fields = try records.next() else { return nil }
    guard fields.count == columns.count else {
      throw invalid(
        "The number of fields (\(fields.count)) differs from the number of columns "
          + "(\(columns.count)).", [])
    }
    var attributes: [(property: PropertyDescription, value: StoredValue)] = []
    var targets: [(property: PropertyDescription, targets: [ImportedRow.Target])] = []
    for (property, field) in zip(columns, fields) {
      do {
        if property.isReference {
          targets.append((property, try field.map { [try target($0, property)] } ?? []))
        } else {
          attributes.append((property, try objects.value(field, of: property, plan.entity)))
        }
      } catch let error as ObjectGraphError {
        throw invalid(error.message, [ImportKey(property.name)])
      }
    }
    return ImportedRow(plan, attributes: attributes, targets: targets)
  }

  /// Returns the object that a field refers to.
  ///
  /// As in exports, the field contains the value of a unique attribute or, if the object has no
  /// unique attribute, the object's ID.
  private func target(
    _ field: String, _ property: PropertyDescription
  ) throws -> ImportedRow.Target {
    let other = try plan.plan(of: property)
    if let unique = other.entity.referringAttribute {
      return .key(other, unique, try objects.value(field, of: unique, other.entity))
    }
    return .number(try objects.target(field, of: property, plan.entity))
  }

  private func invalid(_ reason: String, _ path: [any CodingKey]) -> DecodingError {
    .dataCorrupted(DecodingError.Context(codingPath: path, debugDescription: reason))
  }
}
