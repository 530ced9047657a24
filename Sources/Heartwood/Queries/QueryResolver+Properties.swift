/// Methods that resolve property names and key paths.
extension QueryResolver {
  /// Resolves a property path that consists of names.
  ///
  /// The name of a composite attribute is a prefix of the names of its elements.
  func property(_ name: String, of base: QueryExpression) throws -> QueryTerm {
    var names = [name]
    var root = base
    while case .property(let before, .name(let name)) = root {
      names.append(name)
      root = before
    }
    var term = try resolve(root)
    while var name = names.popLast() {
      if let entity = term.type.entity {
        while entity.isComposite(name), let next = names.popLast() {
          name += CompositeDescription.separator + next
        }
      }
      term = try property(.name(name), of: term)
    }
    return term
  }

  func property(_ name: QueryProperty, of base: QueryTerm) throws -> QueryTerm {
    if case .list(let element) = base.type, case .values(let values) = base.content {
      return try property(name, ofEach: values, element, base.name)
    }
    let property = try property(name, of: base.type, base.name)
    let path = base.isSubject ? property.name : "\(base.name).\(property.name)"
    let object = try value(base, as: base.type)
    dependsOnOtherObjects = dependsOnOtherObjects || !base.isSubject
    let type = type(of: property)
    if case .list = type {
      dependsOnOtherObjects = true
      return QueryTerm(path, type, values: { try $0.members(property, of: object($0)) })
    }
    guard base.isSubject else {
      return QueryTerm(path, type) { try $0.value(property, of: object($0)) }
    }
    let location = PropertyLocation(property)
    return QueryTerm(path, type, property: property) { try $0.own(location) }
  }

  private func property(
    _ name: QueryProperty, ofEach objects: @escaping QueryTerm.Values, _ element: QueryType,
    _ base: String
  ) throws -> QueryTerm {
    let property = try property(name, of: element, base)
    dependsOnOtherObjects = true
    let path = "\(base).\(property.name)"
    let type = type(of: property)
    if case .list = type {
      return QueryTerm(
        path, type,
        values: { scope in
          try objects(scope).flatMap { try scope.members(property, of: $0) }
        })
    }
    if case .array(let collection) = type {
      return QueryTerm(
        path, .list(QueryType(collection.elementStorageType)),
        values: { scope in
          try objects(scope).flatMap {
            try collection.elements(of: scope.value(property, of: $0))
          }
        })
    }
    return QueryTerm(
      path, .list(type),
      values: { scope in try objects(scope).map { try scope.value(property, of: $0) } })
  }

  private func property(
    _ name: QueryProperty, of type: QueryType, _ base: String
  ) throws -> PropertyDescription {
    guard case .object(let known) = type, let entity = known else {
      throw Self.unsupported(
        "The predicate reads a property of \(base), which is \(type.phrase). Use only "
          + "properties of objects whose class is known.")
    }
    let property: PropertyDescription
    switch name {
    case .known(let described, let owner):
      guard entity.isKind(of: owner) || owner.isKind(of: entity),
        described.slot < entity.properties.count
      else {
        throw ObjectGraphError(
          .unknownProperty,
          "\(described.name) is not a stored property of \(entity.name). Use a property that "
            + "\(entity.name) declares or inherits.")
      }
      property = entity.properties[described.slot]
    case .name(let name):
      guard let found = entity.properties.first(where: { $0.name == name }) else {
        throw ObjectGraphError(
          .unknownProperty,
          entity.isComposite(name)
            ? "\(entity.name).\(name) is a composite value. Use one of its elements instead."
            : "\(entity.name) has no property named \(name). Use the name of a stored property.")
      }
      property = found
    }
    guard property.isAttribute || property.isRelationship else {
      throw ObjectGraphError(
        .unknownProperty,
        "\(entity.name).\(property.name) exists only in memory, so it cannot be used in a query. "
          + "Filter the fetched objects by the property instead.")
    }
    recordReference(entity)
    schema.destination(of: property).map(recordReference)
    usesRelationships = usesRelationships || property.isRelationship
    return property
  }

  private func type(of property: PropertyDescription) -> QueryType {
    let destination = schema.destination(of: property)
    return switch property.kind {
    case .attribute(.json, _):
      property.storage.collection.map {
        $0.elementStorageType == .json ? .opaque : .array($0)
      } ?? .opaque
    case .attribute(let storageType, _): QueryType(storageType)
    case .toOne: .object(destination)
    case .toMany: .list(.object(destination))
    case .transient: .opaque
    }
  }
}
