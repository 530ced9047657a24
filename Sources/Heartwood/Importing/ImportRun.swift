import Foundation

/// An import of JSON elements into a context that works within a transaction.
struct ImportRun {
  private typealias Element = (position: Int, row: ImportedRow)

  /// The effect of an element.
  private enum Outcome { case inserted, updated, unchanged }

  private let context: ManagedObjectContext
  private let plan: ImportPlan
  private let property: PropertyDescription
  private let options: ImportOptions
  private let decoder = JSONDecoder()
  private var elements: JSONElements
  private var report = ImportReport()
  /// The objects to which the current element has assigned values, and whether unique values are
  /// among these values.
  private var touched: [(object: ManagedObject, claimsValues: Bool)] = []

  /// The number of consecutive elements that are saved together.
  private static let batchCount = 1000
  /// The number of attempts to save a batch without the elements that have caused conflicts.
  private static let attemptCount = 8

  init(
    _ context: ManagedObjectContext, _ plan: ImportPlan, matching property: PropertyDescription,
    _ options: ImportOptions, _ elements: JSONElements
  ) {
    self.context = context
    self.plan = plan
    self.property = property
    self.options = options
    self.elements = elements
    decoder.dateDecodingStrategy = options.dateDecodingStrategy
    decoder.dataDecodingStrategy = options.dataDecodingStrategy
    decoder.nonConformingFloatDecodingStrategy = JSONCoding.decodedFloats
    decoder.userInfo[ImportedElement.planKey] = plan
  }

  mutating func run() throws -> ImportReport {
    var position = 0
    var isFinished = false
    while !isFinished {
      var batch: [Element] = []
      let end = position + Self.batchCount
      while position < end {
        guard let element = try elements.next() else {
          isFinished = true
          break
        }
        do {
          let row = try decoder.decode(ImportedElement.self, from: Data(element)).row
          batch.append((position, row))
        } catch {
          // Save the batch first, because an earlier element may also be invalid and must be
          // reported first.
          if options.invalidElements == .stop { try save(batch) }
          try refuse(position, error)
        }
        position += 1
      }
      try save(batch)
      options.progress?(position, elements.byteCount)
    }
    return report
  }

  /// Saves the objects of a batch together.
  ///
  /// If an element is invalid, all others are still saved together, because an object may take over
  /// a unique value that an object of another element releases.
  private mutating func save(_ batch: [Element]) throws {
    defer {
      touched = []
      context.reset()
    }
    guard (try? saveTogether(batch)) == nil else { return }
    var rest = batch
    for _ in 0..<Self.attemptCount {
      context.reset()
      let (outcomes, claims) = try applyValid(&rest)
      do {
        try context.save()
        return count(outcomes)
      } catch let error as StorageError {
        // Do not report an element as invalid, because the error comes from the store.
        throw error
      } catch {
        let conflicts = Self.conflicts(in: error, claims)
        guard !conflicts.isEmpty else { break }
        for (position, error) in conflicts.sorted(by: { $0.key < $1.key }) {
          try refuse(position, error)
        }
        rest.removeAll { conflicts[$0.position] != nil }
      }
    }
    for element in rest {
      context.reset()
      do { try saveTogether([element]) } catch let error as StorageError {
        throw error
      } catch {
        try refuse(element.position, error)
      }
    }
  }

  /// Saves the objects of several elements together.
  ///
  /// If saving fails, nothing changes.
  private mutating func saveTogether(_ batch: [Element]) throws {
    var outcomes: [Outcome] = []
    for element in batch { outcomes.append(try apply(element)) }
    try context.save()
    count(outcomes)
  }

  private mutating func count(_ outcomes: [Outcome]) {
    for outcome in outcomes {
      switch outcome {
      case .inserted: report.insertedCount += 1
      case .updated: report.updatedCount += 1
      case .unchanged: report.unchangedCount += 1
      }
    }
  }

  /// Applies an element, and validates the objects that it has created or changed.
  private mutating func apply(_ element: Element) throws -> Outcome {
    touched = []
    let outcome = try apply(element.row, matching: property).outcome
    // Validate now, because each element must be valid on its own, without corrections by later
    // elements.
    for (object, _) in touched where object.isInserted || object.isUpdated {
      do { try object.validate() } catch {
        throw context.validationFailure(of: object, error)
      }
    }
    return outcome
  }

  // MARK: Invalid elements

  /// Applies the valid elements of a batch, and removes and refuses the others.
  ///
  /// - Returns: The effects of the elements and, for each object to which elements have assigned
  ///   unique values, the position of the last of these elements.
  private mutating func applyValid(
    _ batch: inout [Element]
  ) throws -> (outcomes: [Outcome], claims: [ManagedObjectID: Int]) {
    context.tracksUndo = true
    defer { context.tracksUndo = false }
    var outcomes: [Outcome] = []
    var claims: [ManagedObjectID: Int] = [:]
    var valid: [Element] = []
    for element in batch {
      context.forgetUndo()
      do {
        outcomes.append(try apply(element))
        for (object, claimsValues) in touched where claimsValues {
          claims[object.objectID] = element.position
        }
        valid.append(element)
      } catch let error as StorageError {
        throw error
      } catch {
        if context.canUndo { context.undo() }
        try refuse(element.position, error)
      }
    }
    batch = valid
    return (outcomes, claims)
  }

  /// Returns the conflicts over unique values in an error, keyed by the position of the element
  /// that has assigned the value.
  private static func conflicts(
    in error: any Error, _ claims: [ManagedObjectID: Int]
  ) -> [Int: ObjectGraphError] {
    guard let error = error as? ObjectGraphError, error.kind == .constraintConflict else {
      return [:]
    }
    let failures = error.failures.isEmpty ? [error] : error.failures
    return failures.reduce(into: [:]) { result, failure in
      guard let position = failure.objectID.flatMap({ claims[$0] }) else { return }
      result[position] = result[position] ?? failure
    }
  }

  /// Adds an element's error and path to the report, or throws the error, depending on the options.
  private mutating func refuse(_ position: Int, _ error: any Error) throws {
    guard options.invalidElements == .skip else { throw ImportReport.invalid(position, error) }
    report.refuse(position, ImportReport.path(of: error, position), error)
  }

  // MARK: Objects

  private mutating func apply(
    _ row: ImportedRow, matching property: PropertyDescription
  ) throws -> (object: ManagedObject, outcome: Outcome) {
    let (object, isNew) = try object(
      of: row.plan.entity, with: row.key(property), of: property)
    let index = touched.count
    touched.append((object, isNew))
    var isChanged = false
    for (property, value) in row.attributes where try !isSame(value, property, of: object) {
      try object.assign(value, property)
      isChanged = true
      if row.plan.uniqueSlots.contains(property.slot) { touched[index].claimsValues = true }
    }
    for (property, targets) in row.targets {
      let objects = try targets.map { try target($0, path: row.path) }
      if relate(object, property, to: objects) { isChanged = true }
    }
    if object.isInserted { recordAssignments(row, of: object) }
    return (object, isNew ? .inserted : isChanged ? .updated : .unchanged)
  }

  /// Records that the row sets its properties, even to values that the new object already has.
  ///
  /// The save may merge the object into a row that has other values.
  private func recordAssignments(_ row: ImportedRow, of object: ManagedObject) {
    for (property, _) in row.attributes { object.recordAssignment(of: property) }
    for (property, _) in row.targets { object.recordAssignment(of: property) }
  }

  private func isSame(
    _ value: StoredValue, _ property: PropertyDescription, of object: ManagedObject
  ) throws -> Bool {
    if object.isFault { context.fire(object) }
    return try object.storedValue(property).isIdentical(to: value)
  }

  private func object(
    of entity: EntityDescription, with value: StoredValue, of property: PropertyDescription
  ) throws -> (object: ManagedObject, isNew: Bool) {
    if let found = try context.existingObject(of: entity, with: value, of: property) {
      return (found, false)
    }
    guard !entity.isAbstract, let type = entity.type as? ManagedObject.Type else {
      throw ObjectGraphError(
        .unknownEntity,
        "\(entity.name) is abstract, so it cannot be instantiated. Import objects of a subclass "
          + "instead.")
    }
    let object = type.init()
    context.insert(object)
    try object.assign(value, property)
    return (object, true)
  }

  private mutating func target(
    _ target: ImportedRow.Target, path: [any CodingKey]
  ) throws -> ManagedObject {
    switch target {
    case .key(let plan, let property, let value):
      guard !value.isNull else {
        throw DecodingError.valueNotFound(
          Any.self,
          DecodingError.Context(
            codingPath: path,
            debugDescription: "A reference to a related object is null. Use the value of the "
              + "object's unique attribute instead."))
      }
      return try object(of: plan.entity, with: value, of: property).object
    case .number:
      throw ObjectGraphError(
        .foreignObject,
        "Objects cannot be identified by their IDs. Use values of unique attributes instead.")
    case .row(let row):
      return try apply(row, matching: row.uniqueProperty()).object
    }
  }

  /// Sets a relationship.
  ///
  /// - Returns: Whether the relationship's targets have changed.
  private func relate(
    _ object: ManagedObject, _ property: PropertyDescription, to targets: [ManagedObject]
  ) -> Bool {
    if property.isReference {
      guard context.toOneTarget(of: object, property) !== targets.first else { return false }
      context.relate(object, property, to: targets.first)
      return true
    }
    let members = context.loadedMembers(of: object, property)
    var known: Set<ManagedObject> = []
    let targets = targets.filter { known.insert($0).inserted }
    guard property.isOrdered ? members != targets : Set(members) != known else { return false }
    context.relate(object, property, to: targets)
    return true
  }
}

extension ManagedObject {
  /// Sets an attribute in the same way as the attribute's setter does.
  ///
  /// No observers are notified, because an import's context does not track observation.
  fileprivate func assign(_ value: StoredValue, _ property: PropertyDescription) throws {
    if hooks.contains(.writing) { willWrite(at: property.offset) }
    try setStoredValue(value, property)
  }
}
