import Foundation

/// Store contexts: a context has one for each store.
///
/// A store context is a context with its own objects, changes and pin. The root context, which the
/// program uses, is the store context of the first store. It holds the others, which are created on
/// first use. Calls are routed by class, ID or object, or combine all store contexts. So each code
/// path handles one store; the only cost is the additional lookup by class or ID.
extension ManagedObjectContext {
  /// The root context that the program uses: this context, or the one it is a store context of.
  var whole: ManagedObjectContext { owner ?? self }

  /// All store contexts of the root context; for any other store context, only itself.
  var parts: [ManagedObjectContext] { [self] + others }

  /// Returns the store context of a store, which is created if necessary.
  func part(of member: StoreGroup.Member) -> ManagedObjectContext {
    if let known = parts.first(where: { $0.model === member.model }) { return known }
    let part = ManagedObjectContext(
      member, of: group, parent: parent?.part(of: member), partOf: self)
    part.parent?.children.append(Child(context: part))
    part.undoLog = undoLog
    part.listeners = listeners
    part.retainsRegisteredObjects = retainsRegisteredObjects
    if observer != nil { part.observer = ContextObserver(part) }
    if autoMerge != nil { part.automaticallyMergesChangesFromParent = true }
    switch pin {
    case .none, .within: break
    case .atNextRead: part.pin = .atNextRead
    // When the pin was chosen, every store of that time had a store context; this one is newer.
    case .at: part.pin = .at(StoreView(emptyOf: member.model))
    }
    others.append(part)
    return part
  }

  // MARK: Routing

  /// Returns the store context for the objects of a class; `nil` if it is this one or does not
  /// exist.
  func otherPart(for type: AnyClass) -> ManagedObjectContext? {
    guard group.wasChanged, !isPart, model.isRemoved || model.schema.entity(of: type) == nil else {
      return nil
    }
    return otherPart { $0.schema.entity(of: type) != nil }
  }

  /// Returns the store context of a store; `nil` if it is this one or does not exist.
  func otherPart(of store: UUID) -> ManagedObjectContext? {
    guard group.wasChanged, !isPart, model.isRemoved || model.space.store != store else {
      return nil
    }
    return otherPart { $0.space.store == store }
  }

  private func otherPart(where isWanted: (StoreModel) -> Bool) -> ManagedObjectContext? {
    guard let member = group.member(where: isWanted), member.model !== model else { return nil }
    return part(of: member)
  }

  /// Returns the store context of an object; `nil` if it is this one, or the object is not in this
  /// context.
  func otherPart(holding object: ManagedObject) -> ManagedObjectContext? {
    guard !others.isEmpty, object.source !== self else { return nil }
    return others.first { object.source === $0 }
  }

  /// Returns the store context whose schema contains the entity of an object.
  func part(describing object: ManagedObject) -> ManagedObjectContext? {
    guard let entity = object.entityDescription else { return nil }
    return parts.first { part in
      let entities = part.model.schema.entities
      return entities.indices.contains(entity.position) && entities[entity.position] === entity
    }
  }

  // MARK: Saving

  /// Returns the store contexts with changes to save: at most one, except in a child context.
  ///
  /// - Throws: `severalStores`; `removedStore` if one of them belongs to a removed store.
  func partsToSave() throws -> [ManagedObjectContext] {
    let changed = parts.filter { $0.hasOwnChanges || !$0.watched.isEmpty }
    for part in changed { try part.requirePresent() }
    guard parent == nil, changed.count > 1 else { return changed }
    let names = changed.map { part in group.member { $0 === part.model }?.name ?? "" }
    throw ObjectGraphError(
      .severalStores,
      "The changes belong to several stores: \(names.joined(separator: ", ")). A save writes to "
        + "one store only: change objects of one store, save, and then those of the next.")
  }

  /// The changed objects of all store contexts.
  var changedObjects: [ManagedObject] {
    others.reduce(inserted.all + updated.all + deleted.all) { $0 + $1.changedObjects }
  }

  /// Throws if the store was removed.
  func requirePresent() throws {
    if model.isRemoved { throw group.removal(of: model) }
  }

  // MARK: Generations

  /// Returns the token of a generation that this store context has created, combined with the
  /// newest of the other stores; `nil` if it no longer exists.
  func token(of made: Generation) -> QueryGenerationToken? {
    (try? store.snapshot(at: made)).map { group.token($0, of: model) }
  }

  /// Pins all stores to their newest generations, except for one that a store context has just
  /// created.
  func pinNewest(_ made: (part: ManagedObjectContext, generation: Generation)? = nil) throws {
    var views: [(ManagedObjectContext, StoreView)] = []
    for member in group.members {
      let part = part(of: member)
      do {
        let snapshot =
          try made.flatMap { $0.part === part ? $0.generation : nil }
          .map { try member.store.snapshot(at: $0) } ?? member.store.snapshot()
        views.append((part, try StoreView(snapshot, member.model)))
      } catch {
        // The store was removed meanwhile.
        guard part.model.isRemoved else { throw error }
      }
    }
    pin(to: views)
  }

  /// Pins all stores to the generations of a token.
  ///
  /// - Throws: As ``StoreGroup/generations(of:)``; `generationExpired`. Nothing has changed then.
  func pin(to token: QueryGenerationToken) throws {
    let views = try group.snapshots(at: token).map { member, snapshot in
      (part(of: member), try StoreView(snapshot, member.model))
    }
    for member in group.members { _ = part(of: member) }
    // The pinned generation may be older than the loaded members.
    for part in parts {
      part.upToDate = nil
      for object in part.allRegistered() { object.state.insert(.hasOtherMembers) }
    }
    pin(to: views)
  }

  private func pin(to views: [(part: ManagedObjectContext, view: StoreView)]) {
    for part in parts { part.pin = .at(StoreView(emptyOf: part.model)) }
    for (part, view) in views { part.pin = .at(view) }
  }
}
