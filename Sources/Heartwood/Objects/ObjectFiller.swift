import Foundation

/// A filler that sets the properties of one class's objects from records with one layout.
///
/// Values that have the same representation in records and in memory are copied directly. Other
/// values are converted through ``StoredValue``. Fields that are copied directly are represented by
/// plain offsets, because a loop over property descriptions would retain and release each
/// description.
final class ObjectFiller: Sendable {
  /// An eight-byte field that has the same representation in a record and in an object.
  private struct WordField: Sendable {
    let field: Int
    let source: Int
    let target: Int
  }

  /// A field of a common type, which is read by a `switch` over the type instead of dynamic
  /// dispatch.
  private struct TypedField: Sendable {
    let field: Int
    let target: Int
    let representation: PropertyRepresentation
    /// A Boolean value that indicates whether a missing value in a record is read as `nil`.
    let isNilHole: Bool
  }

  private let words: [WordField]
  private let typed: [TypedField]
  private let references: [WordField]
  private let others: [(field: Int, property: PropertyDescription)]
  private let missing: [PropertyDescription]
  /// The values to use for properties that have no value in a record, indexed by slot.
  private let constants: [StoredValue]
  private let properties: [PropertyDescription?]

  /// Creates a filler for records with the given layout.
  ///
  /// - Parameters:
  ///   - properties: The property of each field, or `nil` if the class no longer has the property.
  ///   - missing: The properties for which the layout has no field.
  ///   - constants: The values to use for properties that have no value in a record, indexed by
  ///     slot.
  init(
    _ layout: RecordLayout, _ properties: [PropertyDescription?], missing: [PropertyDescription],
    constants: [StoredValue]
  ) {
    var words: [WordField] = []
    var typed: [TypedField] = []
    var references: [WordField] = []
    var others: [(field: Int, property: PropertyDescription)] = []
    for (field, property) in properties.enumerated() {
      guard let property else { continue }
      let word = WordField(
        field: field, source: layout.fields[field].offset, target: property.offset)
      let representation = property.memoryField.representation
      // Copy a value directly only if the row and the property use the same type. A narrower number
      // must be widened, so read it as a `StoredValue`.
      let isSame = layout.fields[field].storageType == property.fieldStorageType
      switch representation {
      case .integer where isSame, .double where isSame: words.append(word)
      case .float where isSame, .bool where isSame, .date where isSame, .string where isSame,
        .optionalInteger where isSame, .optionalDouble where isSame, .optionalDate where isSame,
        .optionalString where isSame:
        typed.append(
          TypedField(
            field: field, target: property.offset, representation: representation,
            isNilHole: representation.isOptional && constants[property.slot].isNull))
      case .reference: references.append(word)
      default: others.append((field, property))
      }
    }
    self.words = words
    self.typed = typed
    self.references = references
    self.others = others
    self.missing = missing
    self.constants = constants
    self.properties = properties
  }

  /// Sets all stored properties of an object from a record.
  ///
  /// If the program cannot decode an attribute's value, the attribute is set to a substitute, and
  /// the stored value is kept.
  ///
  /// - Throws: `corrupt` if the record does not match the class. If the method throws, some
  ///   properties of the object may already have been set.
  func fill(_ object: ManagedObject, from view: RecordView) throws {
    let memory = object.memory
    defer { withExtendedLifetime(object) {} }
    if object.keptValues != nil { object.keptValues = nil }
    for word in words {
      guard !view.isNull(word.field) else {
        try fillHole(word.field, object)
        continue
      }
      // Copy the eight bytes directly. The wrapper consists of a single `Int64` or `Double`, which
      // has the same bytes in memory as in the record.
      (memory + word.target).storeBytes(of: view.word(at: word.source), as: UInt64.self)
    }
    for field in typed {
      if view.isNull(field.field), !field.isNilHole {
        try fillHole(field.field, object)
      } else {
        try fill(field, memory + field.target, from: view)
      }
    }
    for word in references {
      (memory + word.target).assumingMemoryBound(to: ToOneTarget.self).pointee =
        view.isNull(word.field)
        ? .none : .number(Int64(bitPattern: view.word(at: word.source)))
    }
    for (field, property) in others {
      let value = view.isNull(field) ? constants[property.slot] : try view.value(field)
      try object.setStoredValue(value, property)
    }
    for property in missing {
      try object.setStoredValue(constants[property.slot], property)
    }
  }

  /// Sets the property at a memory location to the value of a field.
  private func fill(
    _ field: TypedField, _ location: UnsafeMutableRawPointer, from view: RecordView
  ) throws {
    func set<Value: AttributeValue>(_ value: Value) {
      location.assumingMemoryBound(to: Attribute<Value>.self).pointee.stored = value
    }
    let isNull = field.isNilHole && view.isNull(field.field)
    var bits: UInt64 { view.bits(field.field) }
    switch field.representation {
    case .float: set(Float(bitPattern: UInt32(truncatingIfNeeded: bits)))
    case .bool: set(bits != 0)
    case .date: set(Date(timeIntervalSinceReferenceDate: Double(bitPattern: bits)))
    case .optionalInteger:
      location.storeBytes(of: isNull ? nil : Int64(bitPattern: bits), as: Int64?.self)
    case .optionalDouble: set(isNull ? nil : Double(bitPattern: bits))
    case .optionalDate:
      set(isNull ? nil : Date(timeIntervalSinceReferenceDate: Double(bitPattern: bits)))
    case .optionalString: set(isNull ? nil : try view.text(field.field))
    default: set(try view.text(field.field))
    }
  }

  /// Sets a property whose value is missing from the record to its value in `constants`.
  private func fillHole(_ field: Int, _ object: ManagedObject) throws {
    guard let property = properties[field] else { return }
    try object.setStoredValue(constants[property.slot], property)
  }
}
