import Foundation

/// The store contexts of a context, one for each store.
///
/// A store context is a context with its own objects, changes and pin. The root context, which the
/// program uses, is the store context of the first store. The root context owns the other store
/// contexts, which are created on first use.
///
/// Each public method of a context first dispatches the call to one store context or to all of
/// them, so the rest of the method handles only one store. `otherStoreContext` looks up the store
/// context for a class, ID or object. This lookup is the only cost of the dispatch.
extension ManagedObjectContext {
  /// The root context, which the program uses.
  ///
  /// This is the owner of this store context or, if there is no owner, this context itself.
  var rootContext: ManagedObjectContext { owner ?? self }

  /// All store contexts of the root context, or only this store context if it is not the root
  /// context.
  var storeContexts: [ManagedObjectContext] { [self] + otherStoreContexts }

  /// Returns the store context for a store, creating it if necessary.
  func storeContext(of attached: StoreGroup.AttachedStore) -> ManagedObjectContext {
    if let known = storeContexts.first(where: { $0.model === attached.model }) { return known }
    let storeContext = ManagedObjectContext(
      attached, of: group, parent: parent?.storeContext(of: attached), ownedBy: self)
    storeContext.parent?.children.append(Child(context: storeContext))
    storeContext.undoLog = undoLog
    storeContext.changeQueues = changeQueues
    storeContext.retainsRegisteredObjects = retainsRegisteredObjects
    if observer != nil { storeContext.observer = ContextObserver(storeContext) }
    if autoMerge != nil { storeContext.automaticallyMergesChangesFromParent = true }
    // Ignore a temporary pin, because the store context outlasts it.
    switch lastingPin ?? pin {
    case .none, .within: break
    case .atNextRead: storeContext.pin = .atNextRead
    // Show the store as empty, because it was attached after the context was pinned. Pinning
    // creates a store context for every store that is attached at that time.
    case .at: storeContext.pin = .at(StoreView(emptyOf: attached.model))
    }
    otherStoreContexts.append(storeContext)
    return storeContext
  }

  // MARK: Routing

  /// Returns the store context, other than this one, that handles a class.
  ///
  /// Returns `nil` if this store context handles the class, or if the class is not assigned to a
  /// store.
  func otherStoreContext(for type: AnyClass) -> ManagedObjectContext? {
    guard group.wasChanged, !isOwned, model.isRemoved || model.schema.entity(of: type) == nil else {
      return nil
    }
    return otherStoreContext { $0.schema.entity(of: type) != nil }
  }

  /// Returns the store context, other than this one, that handles a store.
  ///
  /// Returns `nil` if this store context handles the store, or if the store is not in the
  /// container.
  func otherStoreContext(of store: UUID) -> ManagedObjectContext? {
    guard group.wasChanged, !isOwned, model.isRemoved || model.space.store != store else {
      return nil
    }
    return otherStoreContext { $0.space.store == store }
  }

  private func otherStoreContext(where isWanted: (StoreModel) -> Bool) -> ManagedObjectContext? {
    guard let attached = group.attachedStore(where: isWanted), attached.model !== model else {
      return nil
    }
    return storeContext(of: attached)
  }

  /// Returns the store context, other than this one, that an object belongs to.
  ///
  /// Returns `nil` if the object belongs to this store context or to no store context.
  func otherStoreContext(holding object: ManagedObject) -> ManagedObjectContext? {
    guard !otherStoreContexts.isEmpty, object.source !== self else { return nil }
    return otherStoreContexts.first { object.source === $0 }
  }

  /// Returns the store context whose schema contains the entity of an object, or `nil` if there is
  /// none.
  func storeContext(describing object: ManagedObject) -> ManagedObjectContext? {
    guard let entity = object.entityDescription else { return nil }
    return storeContexts.first { storeContext in
      let entities = storeContext.model.schema.entities
      return entities.indices.contains(entity.position) && entities[entity.position] === entity
    }
  }

  // MARK: Saving

  /// Returns the store contexts that have changes to save: at most one, except in a child context.
  ///
  /// - Throws: `multipleStores` if several stores have changes; `removedStore` if a store context
  ///   belongs to a removed store.
  func storeContextsToSave() throws -> [ManagedObjectContext] {
    let changed = storeContexts.filter { $0.hasOwnChanges || !$0.watched.isEmpty }
    for storeContext in changed { try storeContext.requirePresent() }
    guard parent == nil, changed.count > 1 else { return changed }
    let names = changed.map { storeContext in
      group.attachedStore { $0 === storeContext.model }?.name ?? ""
    }
    throw ObjectGraphError(
      .multipleStores,
      "A save can write to only one store, but several stores have changes: "
        + "\(names.joined(separator: ", ")). Save the changes to one store before you change "
        + "objects in another.")
  }

  /// The changed objects of all store contexts.
  var changedObjects: FlattenSequence<[ObjectList]> {
    storeContexts.flatMap { [$0.inserted, $0.updated, $0.deleted] }.joined()
  }

  /// Throws `removedStore` if the store was removed from the container.
  func requirePresent() throws {
    if model.isRemoved { throw group.removal(of: model) }
  }

  // MARK: Generations

  /// Returns a token that combines a generation created by this store context with the newest
  /// generations of the other stores.
  ///
  /// - Returns: `nil` if the created generation no longer exists.
  func token(of created: Generation) -> QueryGenerationToken? {
    (try? store.snapshot(at: created)).map { group.token($0, of: model) }
  }

  /// Pins all stores to their newest generations.
  ///
  /// - Parameter created: A store context and the generation that it has just created, or `nil`.
  ///   The store of that context is pinned to the created generation instead of the newest one.
  func pinNewest(_ created: (storeContext: ManagedObjectContext, generation: Generation)? = nil)
    throws
  {
    var views: [(ManagedObjectContext, StoreView)] = []
    for attached in group.attachedStores {
      let storeContext = storeContext(of: attached)
      do {
        let snapshot =
          try created.flatMap { $0.storeContext === storeContext ? $0.generation : nil }
          .map { try attached.store.snapshot(at: $0) } ?? attached.store.snapshot()
        views.append((storeContext, try StoreView(snapshot, attached.model)))
      } catch {
        // Skip the store if it has since been removed.
        guard storeContext.model.isRemoved else { throw error }
      }
    }
    pin(to: views)
  }

  /// Pins all stores to the generations of a token.
  ///
  /// Stores that the token does not cover appear empty.
  ///
  /// - Throws: `removedStore` or `foreignStore` if the token covers none of the stores;
  ///   `generationExpired` if a generation of the token is no longer retained. If the method
  ///   throws, nothing has changed.
  func pin(to token: QueryGenerationToken) throws {
    let views = try group.snapshots(at: token).map { attached, snapshot in
      (storeContext(of: attached), try StoreView(snapshot, attached.model))
    }
    for attached in group.attachedStores { _ = storeContext(of: attached) }
    // Mark loaded members as stale, because they may come from a generation newer than the pinned
    // one.
    for storeContext in storeContexts {
      storeContext.upToDate = nil
      for object in storeContext.allRegistered() { object.state.insert(.membersMayBeStale) }
    }
    pin(to: views)
  }

  private func pin(to views: [(storeContext: ManagedObjectContext, view: StoreView)]) {
    for storeContext in storeContexts {
      storeContext.pin = .at(StoreView(emptyOf: storeContext.model))
    }
    for (storeContext, view) in views { storeContext.pin = .at(view) }
  }
}
