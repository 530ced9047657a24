/// Fills objects of a class from records of one layout.
///
/// What is stored as it is in memory is set directly; the rest goes by way of ``StoredValue``.
struct ObjectFiller: Sendable {
  private enum Step: Sendable {
    case int(offset: Int)
    case double(offset: Int)
    case string(offset: Int)
    case toOne(offset: Int)
    case other(PropertyDescription)
  }

  /// A step for each field that has a property.
  private let steps: [(field: Int, step: Step)]
  private let missing: [PropertyDescription]

  init(_ properties: [PropertyDescription?], missing: [PropertyDescription]) {
    steps = properties.enumerated().compactMap { field, property in
      property.map { (field, Self.step($0)) }
    }
    self.missing = missing
  }

  private static func step(_ property: PropertyDescription) -> Step {
    switch property.storage {
    case is Attribute<Int>.Type, is Attribute<Int64>.Type: .int(offset: property.offset)
    case is Attribute<Double>.Type: .double(offset: property.offset)
    case is Attribute<String>.Type: .string(offset: property.offset)
    default:
      if case .toOne = property.kind { .toOne(offset: property.offset) } else { .other(property) }
    }
  }

  /// Sets every stored property of an object.
  ///
  /// - Throws: `corrupt` if the record does not hold what the class wants; the object holds some of
  ///   the values then.
  func fill(_ object: ManagedObject, from view: RecordView) throws {
    let memory = object.memory
    defer { withExtendedLifetime(object) {} }
    for (field, step) in steps {
      switch step {
      case .int(let offset) where !view.isNull(field):
        (memory + offset).assumingMemoryBound(to: Attribute<Int64>.self).pointee.stored =
          Int64(bitPattern: view.bits(field))
      case .double(let offset) where !view.isNull(field):
        (memory + offset).assumingMemoryBound(to: Attribute<Double>.self).pointee.stored =
          Double(bitPattern: view.bits(field))
      case .string(let offset) where !view.isNull(field):
        (memory + offset).assumingMemoryBound(to: Attribute<String>.self).pointee.stored =
          try view.text(field)
      case .toOne(let offset):
        (memory + offset).assumingMemoryBound(to: ToOneTarget.self).pointee =
          view.isNull(field) ? .none : .number(Int64(bitPattern: view.bits(field)))
      case .other(let property):
        try property.storage.setValue(try view.value(field), at: memory + property.offset)
      case .int, .double, .string:
        throw StorageError(.corrupt, "A record has no value where its class needs one.")
      }
    }
    for property in missing {
      try property.storage.setValue(property.initialValue, at: memory + property.offset)
    }
  }
}
