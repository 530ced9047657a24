/// An element of a composite value: a stored property of its structure.
struct CompositeElement {
  /// The names on the path to the element, separated by ``CompositeDescription/separator``.
  let path: String
  /// The paths of the element in earlier versions of the structure.
  let formerPaths: [String]
  /// The offset of the element in the structure's memory.
  let offset: Int
  /// The wrapper type that has the same memory layout as the element.
  let storage: any PropertyStorage.Type

  /// Returns the elements of a structure, including the elements of nested composite values.
  ///
  /// - Throws: `invalidModel` if the type is not a structure with elements that can be stored.
  static func elements(
    of type: any CompositeValue.Type
  ) throws(ObjectGraphError) -> [CompositeElement] {
    let fields = type is AnyClass ? [] : ClassLayout.fields(ofStructure: type)
    guard !fields.isEmpty else {
      throw ObjectGraphError(
        .invalidModel,
        "\(type) cannot be used as a composite value, because it is not a structure with stored "
          + "properties. Declare it as a structure, and give it at least one stored property.")
    }
    let former = type.formerElementNames
    for name in former.keys where !fields.contains(where: { $0.label == name }) {
      throw ObjectGraphError(
        .invalidModel,
        "formerElementNames contains the key \(name), but \(type) has no stored property with that "
          + "name. Use the current names of stored properties as keys.")
    }
    var result: [CompositeElement] = []
    for field in fields {
      guard !field.label.hasPrefix("$") else {
        throw ObjectGraphError(
          .invalidModel,
          "\(type) has a lazy property, which cannot be stored. Use a computed property instead."
        )
      }
      let names = former[field.label] ?? []
      if let nested = field.type as? any CompositeValue.Type {
        result += try elements(of: nested).map { $0.within(field, names) }
      } else if let value = field.type as? any AttributeValue.Type {
        result.append(
          CompositeElement(
            path: field.label, formerPaths: names, offset: field.offset, storage: storage(value)))
      } else {
        throw ObjectGraphError(
          .invalidModel,
          "\(type).\(field.label) has a type that cannot be stored. Use a supported attribute "
            + "type, or make the type conform to CompositeValue.")
      }
    }
    return result
  }

  private static func storage<Value: AttributeValue>(
    _: Value.Type
  ) -> any PropertyStorage.Type { Attribute<Value>.self }

  /// Returns this element of a nested structure as an element of the enclosing structure.
  private func within(_ field: ClassLayout.Field, _ formerNames: [String]) -> CompositeElement {
    let separator = CompositeDescription.separator
    let paths = ([field.label] + formerNames).flatMap { name in
      ([path] + formerPaths).map { name + separator + $0 }
    }
    return CompositeElement(
      path: paths[0], formerPaths: Array(paths.dropFirst()), offset: field.offset + offset,
      storage: storage)
  }

  /// Returns the options for the property that stores this element.
  ///
  /// - Parameters:
  ///   - name: The name of the composite attribute.
  ///   - options: The options declared for the composite attribute.
  func options(_ name: String, _ options: PropertyOptions) -> PropertyOptions {
    let separator = CompositeDescription.separator
    let storedNames = ([options.storedName ?? name] + options.renamedFrom).flatMap { name in
      ([path] + formerPaths).map { name + separator + $0 }
    }
    var result = options
    result.storedName = storedNames[0]
    result.renamedFrom = Array(storedNames.dropFirst())
    return result
  }
}
