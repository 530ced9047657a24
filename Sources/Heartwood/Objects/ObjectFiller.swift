/// Fills objects of a class from records of one layout.
///
/// What is stored as it is in memory is copied from place to place; the rest goes by way of
/// ``StoredValue``. The lists of places hold numbers only, so that going through them retains
/// nothing.
final class ObjectFiller: Sendable {
  /// Eight bytes that are the same in a record and in an object.
  private struct Word: Sendable {
    let field: Int
    let source: Int
    let target: Int
  }

  private struct Text: Sendable {
    let field: Int
    let target: Int
  }

  private let words: [Word]
  private let texts: [Text]
  private let references: [Word]
  private let others: [(field: Int, property: PropertyDescription)]
  private let missing: [PropertyDescription]
  /// What properties are where a record has no value, by slot.
  private let constants: [StoredValue]
  private let properties: [PropertyDescription?]

  /// - Parameters:
  ///   - properties: The property of each field; `nil` where the class has none any more.
  ///   - missing: The properties without a field.
  ///   - constants: What properties are where a record has no value, by slot.
  init(
    _ layout: RecordLayout, _ properties: [PropertyDescription?], missing: [PropertyDescription],
    constants: [StoredValue]
  ) {
    var words: [Word] = []
    var texts: [Text] = []
    var references: [Word] = []
    var others: [(field: Int, property: PropertyDescription)] = []
    for (field, property) in properties.enumerated() {
      guard let property else { continue }
      let word = Word(
        field: field, source: layout.fields[field].offset, target: property.offset)
      // Narrower numbers are widened by way of their values.
      let isWord = layout.fields[field].form.byteCount == 8
      switch property.representation {
      case .integer where isWord, .number where isWord: words.append(word)
      case .text: texts.append(Text(field: field, target: property.offset))
      case .integer, .number, .other:
        if case .toOne = property.kind {
          references.append(word)
        } else {
          others.append((field, property))
        }
      }
    }
    self.words = words
    self.texts = texts
    self.references = references
    self.others = others
    self.missing = missing
    self.constants = constants
    self.properties = properties
  }

  /// Sets every stored property of an object.
  ///
  /// What the program cannot read has its declared value, and is remembered.
  ///
  /// - Throws: `corrupt` if the record does not hold what the class wants; the object holds some of
  ///   the values then.
  func fill(_ object: ManagedObject, from view: RecordView) throws {
    let memory = object.memory
    defer { withExtendedLifetime(object) {} }
    if object.unreadable != nil { object.unreadable = nil }
    for word in words {
      guard !view.isNull(word.field) else {
        try fillHole(word.field, object)
        continue
      }
      // An Int64 or a Double: the only thing in its wrapper, and of the same eight bytes.
      (memory + word.target).storeBytes(of: view.word(at: word.source), as: UInt64.self)
    }
    for text in texts {
      guard !view.isNull(text.field) else {
        try fillHole(text.field, object)
        continue
      }
      (memory + text.target).assumingMemoryBound(to: Attribute<String>.self).pointee.stored =
        try view.text(text.field)
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

  /// Sets what a record has no value of.
  private func fillHole(_ field: Int, _ object: ManagedObject) throws {
    guard let property = properties[field] else { return }
    try object.setStoredValue(constants[property.slot], property)
  }
}
