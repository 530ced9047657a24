import Foundation

/// The properties that an import from JSON objects can set, and their JSON keys.
final class ImportPlan: @unchecked Sendable {
  // Values in a decoder's `userInfo` must be `Sendable`. The conformance is `@unchecked` because
  // only the importing thread uses the plan.
  struct Field {
    let property: PropertyDescription
    /// The path to the value.
    let keys: [ImportKey]
    /// The alternative path to the value, which uses the property's other name, or an empty array
    /// if there is no alternative path.
    var otherKeys: [ImportKey] = []
  }

  let entity: EntityDescription
  let fields: [Field]
  /// The unique attributes by which the import can find an existing object.
  let uniqueProperties: [PropertyDescription]
  /// A Boolean value that indicates whether each row records the keys that do not correspond to a
  /// property.
  var reportsIgnoredKeys = false
  /// The names of the properties that have an alternative name, keyed by the alternative name.
  private let names: [String: String]
  /// The first key of every path to a property's value.
  private let knownKeys: Set<String>
  private let schema: Schema.Content
  private var plans: [Int: ImportPlan] = [:]

  /// Creates a plan for importing the objects of an entity.
  ///
  /// - Parameters:
  ///   - keys: The paths to the properties' values, keyed by property name. For a property that is
  ///     not listed, the path is the property's name.
  init(_ entity: EntityDescription, _ schema: Schema.Content, keys: [String: String] = [:]) throws {
    self.entity = entity
    self.schema = schema
    uniqueProperties = entity.uniqueProperties
    for name in keys.keys
    where !entity.isComposite(name) && !entity.properties.contains(where: { $0.name == name }) {
      throw ObjectGraphError(
        .unknownProperty,
        "The import specifies a key for \(name), which is not a property of \(entity.name). Use "
          + "the names of the class's properties.")
    }
    var fields = entity.properties.filter { $0.isAttribute || $0.isRelationship }.map { property in
      Field(property: property, keys: Self.path(of: property, keys))
    }
    var names: [String: String] = [:]
    let ownNames = Set(entity.properties.map(\.name))
    var knownKeys = Set(fields.compactMap { $0.keys.first?.stringValue })
    for (position, field) in fields.enumerated() {
      // Accept `otherName` only if no property has that name and the property's path is the default
      // path.
      guard let name = field.property.otherName, !ownNames.contains(name),
        field.keys.map(\.stringValue) == field.property.importKeys.map(\.stringValue)
      else { continue }
      let other = ImportKey.path(name)
      guard let first = other.first?.stringValue,
        first == field.keys.first?.stringValue || !knownKeys.contains(first)
      else { continue }
      fields[position].otherKeys = other
      names[name] = field.property.name
    }
    knownKeys.formUnion(fields.compactMap { $0.otherKeys.first?.stringValue })
    (self.fields, self.names, self.knownKeys) = (fields, names, knownKeys)
  }

  /// Returns the path to a property's value.
  ///
  /// The result is the path that `keys` specifies for the property. If `keys` specifies a path only
  /// for the composite attribute that contains the property, the result is that path followed by
  /// the name of the element. Otherwise, the result is the property's name.
  private static func path(
    of property: PropertyDescription, _ keys: [String: String]
  ) -> [ImportKey] {
    let names = property.importKeys
    for count in stride(from: names.count, to: 0, by: -1) {
      let name = names[..<count].map(\.stringValue).joined(separator: ".")
      if let path = keys[name] { return ImportKey.path(path) + names[count...] }
    }
    return names
  }

  /// Returns the key of a property's value, for error messages.
  func key(of property: PropertyDescription) -> ImportKey {
    let keys = fields.filter { $0.property === property }.flatMap(\.keys)
    return ImportKey(keys.map(\.stringValue).joined(separator: "."))
  }

  /// Converts a property's alternative name to its main name.
  ///
  /// Any other name is returned unchanged.
  func name(_ name: String) -> String { names[name] ?? name }

  /// Returns the keys of a JSON object that do not correspond to any property.
  func ignoredKeys(_ container: KeyedDecodingContainer<ImportKey>) -> [String] {
    container.allKeys.map(\.stringValue).filter { !knownKeys.contains($0) }
  }

  /// Returns the plan for the destination of a relationship.
  func plan(of property: PropertyDescription) throws -> ImportPlan {
    if let known = plans[property.slot] { return known }
    guard let destination = schema.destination(of: property) else {
      throw ObjectGraphError(
        .unknownEntity,
        "The schema does not contain the destination class of \(property.name). Add the class to "
          + "the schema.")
    }
    let new = try ImportPlan(destination, schema)
    plans[property.slot] = new
    return new
  }
}

/// A key in a JSON object, or the position of an element in a JSON array.
struct ImportKey: CodingKey {
  let stringValue: String
  let intValue: Int?

  init(_ name: String) { (stringValue, intValue) = (name, nil) }
  /// Returns the keys in a dot-separated path.
  static func path(_ text: String) -> [ImportKey] {
    text.split(separator: ".").map { ImportKey(String($0)) }
  }

  init(stringValue: String) { self.init(stringValue) }
  init(intValue: Int) { (stringValue, self.intValue) = ("\(intValue)", intValue) }
}

extension PropertyDescription {
  /// The keys that form the path to the property's value.
  ///
  /// An element of a composite attribute has several keys.
  var importKeys: [ImportKey] { ImportKey.path(name) }
}

/// The values of one JSON object.
struct ImportedRow {
  /// A target of a relationship.
  enum Target {
    case row(ImportedRow)
    case key(ImportPlan, PropertyDescription, StoredValue)
    /// An existing object.
    case number(ObjectNumber)
  }

  let plan: ImportPlan
  let path: [any CodingKey]
  private(set) var attributes: [(property: PropertyDescription, value: StoredValue)] = []
  /// The targets of each relationship for which the JSON object contains a value.
  ///
  /// A relationship that is `null` has no targets.
  private(set) var targets: [(property: PropertyDescription, targets: [Target])] = []
  /// The keys of the JSON object that do not correspond to any property.
  ///
  /// The array is empty unless the plan requests such keys.
  private(set) var ignoredKeys: [String] = []

  /// Creates a row from values that were not read from JSON.
  init(
    _ plan: ImportPlan, attributes: [(property: PropertyDescription, value: StoredValue)],
    targets: [(property: PropertyDescription, targets: [Target])]
  ) {
    self.plan = plan
    path = []
    self.attributes = attributes
    self.targets = targets
  }

  /// The maximum number of keys and positions in the path to a nested object.
  private static let maxDepth = 64

  init(_ plan: ImportPlan, _ container: KeyedDecodingContainer<ImportKey>) throws {
    self.plan = plan
    path = container.codingPath
    // Limit the depth to prevent a stack overflow, because each level of nesting takes kilobytes of
    // stack space.
    guard path.count <= Self.maxDepth else {
      throw DecodingError.dataCorrupted(
        DecodingError.Context(
          codingPath: [],
          debugDescription: "Related objects are nested too deeply. Import them separately."))
    }
    if plan.reportsIgnoredKeys { ignoredKeys = plan.ignoredKeys(container) }
    for field in plan.fields {
      guard let (inner, key) = try Self.container(of: field, in: container) else { continue }
      let decoder = try inner.superDecoder(forKey: key)
      if field.property.isAttribute {
        attributes.append((field.property, try field.property.storage.decodedValue(decoder)))
      } else {
        targets.append((field.property, try Self.targets(of: field.property, plan, decoder)))
      }
    }
  }

  /// Returns the JSON object that contains a property's value, with the value's key, or `nil` if
  /// there is no value.
  static func container(
    of field: ImportPlan.Field, in container: KeyedDecodingContainer<ImportKey>
  ) throws -> (KeyedDecodingContainer<ImportKey>, ImportKey)? {
    if let found = try Self.container(of: field.keys, in: container) { return found }
    return field.otherKeys.isEmpty ? nil : try Self.container(of: field.otherKeys, in: container)
  }

  /// Returns the JSON object that contains the value at a key path, with the value's key, or `nil`
  /// if there is no value.
  private static func container(
    of keys: [ImportKey], in container: KeyedDecodingContainer<ImportKey>
  ) throws -> (KeyedDecodingContainer<ImportKey>, ImportKey)? {
    var inner = container
    for key in keys.dropLast() {
      guard inner.contains(key), try !inner.decodeNil(forKey: key) else { return nil }
      inner = try inner.nestedContainer(keyedBy: ImportKey.self, forKey: key)
    }
    guard let last = keys.last, inner.contains(last) else { return nil }
    return (inner, last)
  }

  private static func targets(
    of property: PropertyDescription, _ plan: ImportPlan, _ decoder: any Decoder
  ) throws -> [Target] {
    if try decoder.singleValueContainer().decodeNil() { return [] }
    let plan = try plan.plan(of: property)
    guard !property.isReference else { return [try target(plan, decoder)] }
    var container = try decoder.unkeyedContainer()
    var targets: [Target] = []
    while !container.isAtEnd { targets.append(try target(plan, container.superDecoder())) }
    return targets
  }

  private static func target(_ plan: ImportPlan, _ decoder: any Decoder) throws -> Target {
    if let container = try? decoder.container(keyedBy: ImportKey.self) {
      return .row(try ImportedRow(plan, container))
    }
    let unique = plan.uniqueProperties
    guard unique.count == 1 else {
      throw DecodingError.typeMismatch(
        [String: Any].self,
        DecodingError.Context(
          codingPath: decoder.codingPath,
          debugDescription: "A value alone cannot identify a related object, because "
            + "\(plan.entity.name) does not have exactly one unique attribute. Use a JSON object "
            + "that contains a unique attribute."))
    }
    return .key(plan, unique[0], try unique[0].storage.decodedValue(decoder))
  }
}

extension ImportedRow {
  /// Returns the row's value for the unique attribute that identifies the object.
  ///
  /// - Throws: `DecodingError` if the row does not contain the value.
  func key(_ property: PropertyDescription) throws -> StoredValue {
    if let found = attributes.first(where: { $0.property === property }), !found.value.isNull {
      return found.value
    }
    throw missing(
      plan.key(of: property),
      "The element has no value for \(property.name), so its object cannot be identified. Add the "
        + "value.")
  }

  /// Returns the first unique attribute for which the row of a related object has a value.
  ///
  /// - Throws: `DecodingError` if the row has a value for none of the unique attributes.
  func uniqueProperty() throws -> PropertyDescription {
    let present = plan.uniqueProperties.first { unique in
      attributes.contains { $0.property === unique && !$0.value.isNull }
    }
    if let present { return present }
    throw missing(
      ImportKey(plan.uniqueProperties.first?.name ?? "a unique attribute"),
      "The related object cannot be identified, because it has no value for any unique attribute. "
        + "Add a value.")
  }

  /// Returns the error for a related object that does not exist and cannot be created because its
  /// entity is unknown.
  func missing(
    _ entity: EntityDescription, _ value: StoredValue, _ relationship: PropertyDescription
  ) -> DecodingError {
    let names = entity.family.filter { !$0.isAbstract }.map(\.name).joined(separator: " or ")
    return .dataCorrupted(
      DecodingError.Context(
        codingPath: path + [plan.key(of: relationship)],
        debugDescription:
          "There is no \([entity.name, value.text].compactMap(\.self).joined(separator: " ")). The "
          + "missing object could belong to several entities: \(names). Import the object first."))
  }

  /// Returns the error for a key that is missing from the row.
  func missing(_ key: ImportKey, _ reason: String) -> DecodingError {
    .keyNotFound(key, DecodingError.Context(codingPath: path, debugDescription: reason))
  }
}

/// A JSON element, decoded with the plan in the decoder's `userInfo`.
struct ImportedElement: Decodable {
  let row: ImportedRow

  // swift-format-ignore: NeverForceUnwrap
  static let planKey = CodingUserInfoKey(rawValue: "plan")!

  init(from decoder: any Decoder) throws {
    guard let plan = decoder.userInfo[Self.planKey] as? ImportPlan else {
      preconditionFailure("The decoder's userInfo contains no import plan.")
    }
    row = try ImportedRow(plan, try decoder.container(keyedBy: ImportKey.self))
  }
}
