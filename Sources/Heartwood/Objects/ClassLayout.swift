/// Where the stored properties of a class lie in its objects, as the Swift runtime tells.
///
/// Properties without a wrapper may be of any type; only their places matter here.
enum ClassLayout {
  /// A stored property of an object.
  struct Field {
    let label: String
    let type: Any.Type
    let offset: Int

    /// The wrapper, if it is a property of the model.
    var storage: (any PropertyStorage.Type)? { type as? any PropertyStorage.Type }
    /// The name in the class: that of a wrapper begins with an underscore.
    var name: String { String(label.drop { $0 == "_" }) }
  }

  /// The stored properties that objects of a class have beyond those of ``ManagedObject``, for each
  /// class on the way, the one nearest to that first.
  static func fields(of type: ManagedObject.Type) -> [[Field]] {
    guard type != ManagedObject.self, let above = _getSuperclass(type) as? ManagedObject.Type
    else { return [] }
    let inherited = fieldCount(above)
    let own = (inherited..<max(inherited, fieldCount(type))).map { field(of: type, at: $0) }
    return fields(of: above) + [own]
  }

  private static func field(of type: AnyClass, at index: Int) -> Field {
    var details = FieldDetails()
    let fieldType = fieldType(type, index: index, details: &details)
    defer { details.free?(details.name) }
    return Field(
      label: details.name.map { String(cString: $0) } ?? "", type: fieldType,
      offset: fieldOffset(type, index: index))
  }
}

// What `Mirror` is made of. It shows values only, and those of a type that describes itself may be
// anything.

/// What the runtime tells of a field besides its type and place.
private struct FieldDetails {
  var name: UnsafePointer<CChar>?
  var free: (@convention(c) (UnsafePointer<CChar>?) -> Void)?
  var isStrong = false
  var isVariable = false
}

/// How many fields a class has with those of its superclasses, which come first.
@_silgen_name("swift_reflectionMirror_recursiveCount")
private func fieldCount(_ type: Any.Type) -> Int

@_silgen_name("swift_reflectionMirror_recursiveChildMetadata")
private func fieldType(
  _ type: Any.Type, index: Int, details: UnsafeMutablePointer<FieldDetails>
) -> Any.Type

@_silgen_name("swift_reflectionMirror_recursiveChildOffset")
private func fieldOffset(_ type: Any.Type, index: Int) -> Int
