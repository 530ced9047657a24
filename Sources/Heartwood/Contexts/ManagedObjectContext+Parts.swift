import Foundation

/// A context of several stores has a part for each.
///
/// A part is a context of its own, with its objects, their changes and a pin. The one that the
/// program has is the part of the first store, and holds the others, which are made when they are
/// needed. Who asks it for something is sent on to the part in question, or hears from all of them.
/// So within each there is one store only, and one more look at a class or an ID before it.
extension ManagedObjectContext {
  /// The context that the program has: this one, or the one it is a part of.
  var whole: ManagedObjectContext { owner ?? self }

  /// The parts of the context that the program has; of a part, itself.
  var parts: [ManagedObjectContext] { [self] + others }

  /// The part of a store, made if it is not there yet.
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
    // All that there were had a part when the generation was chosen.
    case .at: part.pin = .at(StoreView(emptyOf: member.model))
    }
    others.append(part)
    return part
  }

  // MARK: Which part

  /// The part for the objects of a class; `nil` if it is this one, or there is none.
  func otherPart(for type: AnyClass) -> ManagedObjectContext? {
    guard group.wasChanged, !isPart, model.isRemoved || model.schema.entity(of: type) == nil else {
      return nil
    }
    return otherPart { $0.schema.entity(of: type) != nil }
  }

  /// The part for the objects of a store; `nil` if it is this one, or there is none.
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

  /// The part that an object belongs to; `nil` if it is this one, or none of this context.
  func otherPart(holding object: ManagedObject) -> ManagedObjectContext? {
    guard !others.isEmpty, object.source !== self else { return nil }
    return others.first { object.source === $0 }
  }

  /// The part whose schema has the entity of an object.
  func part(describing object: ManagedObject) -> ManagedObjectContext? {
    guard let entity = object.entityDescription else { return nil }
    return parts.first { part in
      let entities = part.model.schema.entities
      return entities.indices.contains(entity.position) && entities[entity.position] === entity
    }
  }

  // MARK: Saving

  /// The parts in which there is something to save: one at most, unless that is another context.
  ///
  /// - Throws: `severalStores`; `removedStore` if something was changed in one that was removed.
  func partsToSave() throws -> [ManagedObjectContext] {
    let changed = parts.filter { $0.hasOwnChanges || !$0.watched.isEmpty }
    for part in changed { try part.requirePresent() }
    guard parent == nil, changed.count > 1 else { return changed }
    let names = changed.map { part in group.member { $0 === part.model }?.name ?? "" }
    throw ObjectGraphError(
      .severalStores,
      "What was changed is of several stores: \(names.joined(separator: ", ")). A save writes to "
        + "one of them: change objects of one store, save, and then those of the next.")
  }

  /// What was changed, in all parts.
  var changedObjects: [ManagedObject] {
    others.reduce(inserted.all + updated.all + deleted.all) { $0 + $1.changedObjects }
  }

  /// Throws if the store was removed.
  func requirePresent() throws {
    if model.isRemoved { throw group.removal(of: model) }
  }

  // MARK: Generations

  /// What names a generation that this part has made, and the newest of the other stores; `nil` if
  /// it is over already.
  func token(of made: Generation) -> QueryGenerationToken? {
    (try? store.snapshot(at: made)).map { group.token($0, of: model) }
  }

  /// Pins all stores to their newest generations, but for one that a part has just made.
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
        // It was removed just now.
        guard part.model.isRemoved else { throw error }
      }
    }
    pin(to: views)
  }

  /// Pins all stores to what a token names.
  ///
  /// - Throws: As ``StoreGroup/generations(of:)``; `generationExpired`. Nothing has changed then.
  func pin(to token: QueryGenerationToken) throws {
    let views = try group.snapshots(at: token).map { member, snapshot in
      (part(of: member), try StoreView(snapshot, member.model))
    }
    for member in group.members { _ = part(of: member) }
    // It may be an earlier generation than the members that were loaded.
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
