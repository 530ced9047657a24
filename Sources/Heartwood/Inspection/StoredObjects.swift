package import Foundation

/// The objects in one generation of a store, read using the stored model instead of model classes.
///
/// An instance must be used on one thread at a time.
package final class StoredObjects {
  /// The entities, sorted by number.
  package let entities: [EntityFacts]
  package let snapshot: Snapshot
  /// A container that provides the history and the differences between generations.
  package let container: PersistentContainer
  let model: StoreModel
  private let context: ManagedObjectContext
  let view: StoreView

  /// Creates an instance for reading the objects in a generation, using the model in that
  /// generation.
  ///
  /// - Throws: `unknownEntity` if the store contains no objects; `corrupt` if the store's model is
  ///   damaged.
  package init(_ store: Store, at snapshot: Snapshot) throws {
    self.snapshot = snapshot
    let keyspace = try snapshot.keyspace(StoredModel.keyspace).map { RowsKeyspace.snapshot($0) }
    let state = try StoredState(keyspace)
    guard let stored = state.model else {
      throw ObjectGraphError(
        .unknownEntity,
        "The store contains no objects, because no program has opened it with a model. Use the "
          + "commands for keys and values instead.")
    }
    let declarations = try StoredDeclarations.read(keyspace) ?? StoredDeclarations()
    let schema = try StoredSchema.schema(of: stored, declarations)
    let model = try state.storeModel(schema, tracksHistory: true)
    self.model = model
    view = try StoreView(snapshot, model)
    container = PersistentContainer(store: store, model: model)
    context = container.newContext()
    try context.setQueryGenerationFrom(QueryGenerationToken(generation: snapshot.token))
    entities = stored.entities.compactMap { entity in
      model.schema.entity(named: entity.name).map {
        EntityFacts(model.storage(of: $0), entity, model.schema)
      }
    }
  }

  /// Compares the text indexes in a store's newest generation with the objects in that generation.
  ///
  /// - Returns: A sentence for each index that differs or cannot be read.
  /// - Throws: Any error from reading the store, except `corrupt`.
  package static func textFindings(in store: Store) throws -> [String] {
    do {
      return try TextIndexCheck(view: StoredObjects(store, at: store.snapshot()).view).findings()
    } catch let error as StorageError where error.kind == .corrupt {
      return [error.message]
    } catch let error as ObjectGraphError where error.kind == .unknownEntity {
      // Return no findings, because the store contains no objects.
      return []
    }
  }

  /// Returns the entity with the given name, or `nil` if there is none.
  package func entity(named name: String) -> EntityFacts? { entities.first { $0.name == name } }

  /// Returns the number of an entity's rows, excluding the rows of subentities.
  package func rowCount(of entity: EntityFacts) throws -> Int {
    try snapshot.keyspace(entity.keyspace)?.count() ?? 0
  }

  // MARK: Queries

  /// Returns the number of objects that match a query.
  package func count(_ query: ObjectQuery) throws -> Int { try context.count(for: query.request()) }

  /// Returns an explanation of how a query finds its objects.
  package func explanation(of query: ObjectQuery) throws -> FetchExplanation {
    try context.explain(query.request())
  }

  /// Calls `body` with the values of the given columns for each object that matches a query.
  ///
  /// - Parameter columns: Expressions in the format language, such as `name`, `team.name` or
  ///   `members.@count`. A `nil` element requests the object's ID.
  /// - Throws: `predicateSyntax`, `unknownProperty` or `unsupportedPredicate` if a column or the
  ///   condition is invalid; any error from `body` or from reading rows.
  /// - Complexity: The same as for a fetch. Memory use grows with the number of objects only if the
  ///   query has an order or an offset.
  package func forEachRow(
    of query: ObjectQuery, _ columns: [String?], _ body: @escaping ([ObjectValue]) throws -> Void
  ) throws {
    var request = try query.request()
    let entity = try request.entity(in: model.schema)
    let resolver = QueryResolver(model.schema, model.space, entity, RenumberedObjects())
    resolver.textModel = model
    let terms = try columns.map { column in
      guard let column else { return try resolver.resolve(.variable(0)) }
      // Look for a property first, because a property's name may be a keyword of the format
      // language.
      let property = entity.properties.first { $0.name == column }
      let expression =
        try property.map { .property(.variable(0), .known($0, entity)) }
        ?? FormatParser.expression(column, [])
      return try resolver.resolve(expression)
    }
    let values = try zip(columns, terms).map { column, term -> QueryTerm.Value in
      switch term.content {
      case .value(let value): return value
      case .condition(let condition): return { .bool(try condition($0)) }
      case .values:
        let column = column ?? "SELF"
        throw QueryResolver.unsupported(
          "\(column) has several values for each object, so it cannot be used as a column. Use "
            + "\(column).@count or another aggregate.")
      }
    }
    request.named?.variableCount = resolver.variableCount
    let types = terms.map(\.type)
    let properties = terms.map(\.property)
    let space = model.space
    try context.forEachRow(request, { _, _ in values }, inOrder: true) { row in
      var cells: [ObjectValue] = []
      cells.reserveCapacity(row.count)
      for (index, value) in row.enumerated() {
        cells.append(ObjectValue(value, properties[index], types[index], space))
      }
      try body(cells)
    }
  }

  /// Writes the attributes and to-one relationships of the objects that match a query, in a format
  /// that can be imported.
  ///
  /// - Parameter output: A closure that is called with the text, one chunk at a time.
  /// - Returns: The number of objects.
  package func export(
    _ query: ObjectQuery, as format: ExportFormat, to output: (Data) throws -> Void
  ) throws -> Int {
    try context.export(query.request(), as: format, to: output)
  }

  // MARK: Objects

  /// Returns the ID of the object with the given URI, or with the given entity and number, such as
  /// `Team/12`.
  ///
  /// - Returns: `nil` if the text has neither form, or if the URI belongs to another store.
  package func id(_ text: String) -> ManagedObjectID? {
    if let url = URL(string: text), let id = ManagedObjectID(uriRepresentation: url) {
      return id.space.store == model.space.store ? ManagedObjectID(id.number, model.space) : nil
    }
    return model.number(text).map { ManagedObjectID($0, model.space) }
  }

  /// Returns the names and values of an object's properties, in order, or `nil` if the object does
  /// not exist.
  package func values(
    of id: ManagedObjectID
  ) throws -> [(name: String, value: ObjectValue)]? {
    try values(of: id, in: view)
  }

  /// Returns whether an object exists.
  package func exists(_ id: ManagedObjectID) throws -> Bool {
    guard let storage = model.storage(of: id.number) else { return false }
    return try view.objects(storage)?.withValue(id.number.row) { _ in true } ?? false
  }

  /// Returns the members of an object's to-many relationship, in the relationship's order.
  ///
  /// - Precondition: The object's entity has a to-many relationship with the given name.
  package func members(
    of id: ManagedObjectID, _ relationship: String
  ) throws -> [ManagedObjectID] {
    guard let storage = model.storage(of: id.number),
      let property = storage.entity.relationships.first(where: { $0.name == relationship })
    else { return [] }
    let keyspace = model.memberKeyspace(property, of: storage.entity)
    return try view.numbers(in: keyspace, [.integer(id.number.bits)]).map {
      ManagedObjectID($0, model.space)
    }
  }

  func values(
    of id: ManagedObjectID, in view: StoreView
  ) throws -> [(name: String, value: ObjectValue)]? {
    guard let storage = model.storage(of: id.number) else { return nil }
    guard let values = try view.withRecord(id.number, storage, { try storage.values($0) }) else {
      return nil
    }
    return try storage.entity.properties.map { property in
      guard case .toMany = property.kind else {
        return (property.name, ObjectValue(values[property.slot], property, nil, model.space))
      }
      let keyspace = model.memberKeyspace(property, of: storage.entity)
      let members = try view.numbers(in: keyspace, [.integer(id.number.bits)])
      return (property.name, .objects(members.map { ManagedObjectID($0, model.space) }))
    }
  }
}

extension ObjectValue {
  init(
    _ value: StoredValue, _ property: PropertyDescription?, _ type: QueryType?,
    _ space: ManagedObjectID.Space
  ) {
    if value.isNull {
      self = .null
      return
    }
    if let storageType = property?.fieldStorageType, storageType != .reference {
      self = .value(value, storageType)
      return
    }
    let isReference = if case .object? = type { true } else { property?.isReference ?? false }
    if isReference, case .integer(let bits) = value {
      self = .object(ManagedObjectID(ObjectNumber(bits: bits), space))
    } else {
      self = .value(value, value.storageType(of: type))
    }
  }
}

extension StoredValue {
  /// Returns the storage type that represents the value of an expression.
  fileprivate func storageType(of type: QueryType?) -> StorageType {
    switch self {
    case .null, .bool: .bool
    case .integer: .int64
    case .largeInteger: .uint64
    case .double: type?.isFloat == true ? .float : .double
    case .date: .date
    case .uuid: .uuid
    case .string: type?.isDecimal == true ? .decimal : .string
    case .bytes: if case .opaque? = type { .json } else { .bytes }
    }
  }
}
