/// The memory layout of the stored properties of classes and structures, as reported by the Swift
/// runtime.
///
/// The layout includes properties without a wrapper. Such properties are not part of the model, and
/// can have any type.
enum ClassLayout {
  /// A stored property of a class or structure.
  struct Field {
    let label: String
    let type: Any.Type
    let offset: Int

    /// The wrapper type, or `nil` if the field is not a property of the model.
    var storage: (any PropertyStorage.Type)? { type as? any PropertyStorage.Type }
    /// The property's name as declared in the class, without the leading underscore of a property
    /// wrapper's backing storage.
    var name: String { String(label.drop { $0 == "_" }) }
  }

  /// Returns the stored properties declared by a class and by its superclasses below
  /// ``ManagedObject``.
  ///
  /// The properties are grouped by declaring class, starting with the topmost superclass.
  static func fields(of type: ManagedObject.Type) -> [[Field]] {
    guard type != ManagedObject.self, let superclass = _getSuperclass(type) as? ManagedObject.Type
    else { return [] }
    let inherited = fieldCount(superclass)
    let own = (inherited..<max(inherited, fieldCount(type))).map { field(of: type, at: $0) }
    return fields(of: superclass) + [own]
  }

  /// Returns the stored properties of a structure.
  static func fields(ofStructure type: Any.Type) -> [Field] {
    (0..<fieldCount(type)).map { field(of: type, at: $0) }
  }

  private static func field(of type: Any.Type, at index: Int) -> Field {
    var details = FieldDetails()
    let fieldType = fieldType(type, index: index, details: &details)
    defer { details.free?(details.name) }
    return Field(
      label: details.name.map { String(cString: $0) } ?? "", type: fieldType,
      offset: fieldOffset(type, index: index))
  }
}

// The following runtime functions are those that `Mirror` uses. `Mirror` itself is unsuitable,
// because it does not provide offsets, and because types can customise their mirrors.

/// Details about a field, which the runtime reports along with the field's type and offset.
private struct FieldDetails {
  var name: UnsafePointer<CChar>?
  var free: (@convention(c) (UnsafePointer<CChar>?) -> Void)?
  var isStrong = false
  var isVariable = false
}

/// Returns the number of fields in a class, including the inherited fields, which come first.
@_silgen_name("swift_reflectionMirror_recursiveCount")
private func fieldCount(_ type: Any.Type) -> Int

@_silgen_name("swift_reflectionMirror_recursiveChildMetadata")
private func fieldType(
  _ type: Any.Type, index: Int, details: UnsafeMutablePointer<FieldDetails>
) -> Any.Type

@_silgen_name("swift_reflectionMirror_recursiveChildOffset")
private func fieldOffset(_ type: Any.Type, index: Int) -> Int
