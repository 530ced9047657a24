import Foundation

/// Conversions from text to stored values.
extension StoredObjects {
  /// Returns the stored value that a string represents for a property.
  ///
  /// A `nil` string represents the absence of a value.
  ///
  /// Dates are written in ISO 8601, bytes in base64, and `Codable` values in JSON. An object is
  /// represented by its ID, such as `Team/12`.
  ///
  /// - Throws: `validation` if the string does not represent a value of the property's type.
  func value(
    _ text: String?, of property: PropertyDescription, _ entity: EntityDescription
  ) throws -> StoredValue {
    guard let text else {
      guard case .attribute(_, isOptional: false) = property.kind else { return .null }
      throw ObjectGraphError(
        .validation, "\(entity.name).\(property.name) is not optional. Specify a value.")
    }
    if property.isReference { return .integer(try target(text, of: property, entity).bits) }
    guard case .attribute(let type, _) = property.kind else { return .null }
    if let value = try type.value(text) { return value }
    throw refusal(text, property, entity, type.phrase)
  }

  /// Returns the number of the object that a string identifies as the target of a relationship.
  ///
  /// - Throws: `validation` if the string is not the ID of an object of the destination entity.
  func target(
    _ text: String, of property: PropertyDescription, _ entity: EntityDescription
  ) throws -> ObjectNumber {
    guard let id = id(text), let destination = model.schema.destination(of: property),
      model.storage(of: id.number)?.entity.isKind(of: destination) == true
    else {
      let name = model.schema.destination(of: property)?.name ?? "object"
      throw refusal(text, property, entity, "the ID of an object, such as \(name)/1")
    }
    return id.number
  }

  private func refusal(
    _ text: String, _ property: PropertyDescription, _ entity: EntityDescription, _ wanted: String
  ) -> ObjectGraphError {
    ObjectGraphError(
      .validation,
      "\"\(text.prefix(100))\" is not a valid value for \(entity.name).\(property.name). Use "
        + "\(wanted).")
  }
}
