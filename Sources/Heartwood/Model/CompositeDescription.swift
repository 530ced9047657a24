import Foundation

/// A composite attribute of an entity.
struct CompositeDescription: Sendable {
  /// The name of the attribute in the class.
  let name: String
  /// The slots of the attribute's elements.
  let slots: Range<Int>

  /// The separator between a composite attribute's name and an element's name.
  static let separator = "."

  /// Returns the names of the composite attributes and elements that contain the given properties.
  static func names(of properties: [PropertyDescription]) -> Set<String> {
    var names: Set<String> = []
    for property in properties {
      let parts = property.name.components(separatedBy: separator)
      for count in 1..<max(parts.count, 1) {
        names.insert(parts[..<count].joined(separator: separator))
      }
    }
    return names
  }

  /// Returns the element of this attribute that a key path refers to.
  ///
  /// Returns `nil` if the key path ends with a computed property or a composite value.
  ///
  /// The method parses the key path's description, because only the description reveals the names
  /// of a structure's stored properties.
  func element(at keyPath: AnyKeyPath, in entity: EntityDescription) -> PropertyDescription? {
    let text = "\(keyPath)"
    let elements = entity.properties[slots].filter { property in
      let path = property.name.dropFirst(name.count)
      guard text.hasSuffix(path) else { return false }
      // Check that the component before the element is the attribute itself. The key path's
      // description contains the attribute's name or, where the name is not available, the
      // attribute's address and type.
      let before = text.dropLast(path.count)
      return before.hasSuffix(Self.separator + name) || before.hasSuffix(">")
    }
    return elements.max { $0.name.utf8.count < $1.name.utf8.count }
  }
}
