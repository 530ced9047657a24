import Foundation

/// An import of JSON elements into a context that works within a transaction.
struct ImportRun {
  private typealias Element = (position: Int, row: ImportedRow)

  /// The effect that importing an element has on its object.
  private enum Outcome { case inserted, updated, unchanged }

  /// The positions of the elements that last set the properties of an object.
  private struct Claims {
    /// The position of the element that created the object.
    var creation: Int?
    /// The positions of the elements that changed the object's properties, keyed by slot.
    var changes: [Int: Int] = [:]
  }

  private let context: ManagedObjectContext
  private let plan: ImportPlan
  private let property: PropertyDescription
  private let options: ImportOptions
  private let decoder = JSONDecoder()
  private var elements: JSONElements
  private var report = ImportReport()
  /// The objects that the current element has created or found, and the slots of the properties
  /// that it has changed.
  private var touched: [(object: ManagedObject, isNew: Bool, changed: SlotSet)] = []

  /// The number of consecutive elements that are saved together.
  private static let batchCount = 1000

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
  /// Even if some elements are invalid, all other elements are saved together, because one object
  /// may take over a unique value that another object releases.
  private mutating func save(_ batch: [Element]) throws {
    defer {
      touched = []
      context.reset()
    }
    guard (try? saveTogether(batch)) == nil else { return }
    var rest = batch
    // Repeat, because refusing elements can cause new conflicts: a refused element no longer
    // releases its old values, and a remaining element may need one of them. Each round refuses an
    // element or ends the loop.
    while true {
      context.reset()
      let (outcomes, claims) = try applyValid(&rest)
      do {
        try context.save()
        return count(outcomes)
      } catch let error as StorageError {
        // The error comes from the store rather than from an element, so do not refuse any element.
        throw error
      } catch {
        let refused = Self.refused(in: error, claims)
        guard !refused.isEmpty else { break }
        for (position, error) in refused { try refuse(position, error) }
        rest.removeAll { element in refused.contains { $0.position == element.position } }
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
    for (object, _, _) in touched where object.isInserted || object.isUpdated {
      do { try object.validate() } catch {
        throw context.validationFailure(of: object, error)
      }
    }
    return outcome
  }

  // MARK: Invalid elements

  /// Applies the valid elements of a batch, and refuses and removes the invalid elements.
  ///
  /// - Returns: The effects of the valid elements, and the positions of the elements that have set
  ///   the properties of each object.
  private mutating func applyValid(
    _ batch: inout [Element]
  ) throws -> (outcomes: [Outcome], claims: [ManagedObjectID: Claims]) {
    context.tracksUndo = true
    defer { context.tracksUndo = false }
    var outcomes: [Outcome] = []
    var claims: [ManagedObjectID: Claims] = [:]
    var valid: [Element] = []
    for element in batch {
      context.forgetUndo()
      do {
        outcomes.append(try apply(element))
        for (object, isNew, changed) in touched where isNew || !changed.isEmpty {
          if isNew { claims[object.objectID, default: Claims()].creation = element.position }
          for property in context.entity(of: object).properties
          where changed.contains(property.slot) {
            claims[object.objectID, default: Claims()].changes[property.slot] = element.position
          }
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

  /// Returns the positions of the elements to refuse because of conflicts over unique values, in
  /// ascending order.
  ///
  /// Of two elements that claim the same value, the later one is refused, unless the earlier one is
  /// refused because of another conflict.
  private static func refused(
    in error: any Error, _ claims: [ManagedObjectID: Claims]
  ) -> [(position: Int, error: ObjectGraphError)] {
    let failures = [error as? ObjectGraphError].compactMap(\.self).flatMap { [$0] + $0.failures }
    let conflicts = failures.compactMap {
      failure -> (later: Int, earlier: Int?, ObjectGraphError)? in
      guard let conflict = failure.uniqueConflict else { return nil }
      let positions = [conflict.objects, conflict.others].compactMap { objects in
        objects.compactMap { claims[$0] }.flatMap { claims in
          conflict.slots.compactMap { claims.changes[$0] ?? claims.creation }
        }.max()
      }
      return positions.max().map { later in (later, positions.first { $0 < later }, failure) }
    }
    var result: [Int: ObjectGraphError] = [:]
    for (later, earlier, error) in conflicts.sorted(by: { $0.later < $1.later })
    where result[later] == nil && earlier.flatMap({ result[$0] }) == nil {
      result[later] = error
    }
    return result.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
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
    touched.append((object, isNew, SlotSet()))
    for (property, value) in row.attributes
    where try !object.storedValue(property).isIdentical(to: value) {
      try object.assign(value, property)
      touched[index].changed.insert(property.slot)
    }
    for (property, targets) in row.targets {
      let objects = try targets.map { try target($0, path: row.path) }
      if relate(object, property, to: objects) { touched[index].changed.insert(property.slot) }
    }
    if object.isInserted { recordAssignments(row, of: object) }
    let isChanged = !touched[index].changed.isEmpty
    return (object, isNew ? .inserted : isChanged ? .updated : .unchanged)
  }

  /// Records an assignment to every property that the row sets, even if the new object already has
  /// the same value.
  ///
  /// Otherwise, if the save merged the object into an existing row, the row could keep a different
  /// value.
  private func recordAssignments(_ row: ImportedRow, of object: ManagedObject) {
    for (property, _) in row.attributes { object.recordAssignment(of: property) }
    for (property, _) in row.targets { object.recordAssignment(of: property) }
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

  /// Sets the targets of a relationship.
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
  /// Sets the value of an attribute as its setter would.
  ///
  /// No observers are notified, because an import's context does not track observation.
  fileprivate func assign(_ value: StoredValue, _ property: PropertyDescription) throws {
    if hooks.contains(.writing) { willWrite(at: property.offset) }
    try setStoredValue(value, property)
  }
}
