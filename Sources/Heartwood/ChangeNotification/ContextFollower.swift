/// An object that maintains lists of a context's objects and is notified when they change.
protocol ContextFollower: AnyObject {
  /// Records that an object has changed or been reread.
  func recordChange(of object: ManagedObject, isRefreshed: Bool)
  /// Records that an operation, such as a save, may have cleared the unsaved changes of any object.
  func recordChangeOfAllObjects()
  /// Records that a parent context has changed.
  func recordParentChange()
  /// Records that an object's number has changed.
  func recordNumber(_ new: ObjectNumber, insteadOf old: ObjectNumber)
  /// Records that a new object has left the context because another object has replaced it
  /// (guarantee C-12).
  func recordReplacement(of number: ObjectNumber)
  /// Applies the recorded changes to the lists.
  func updateLists()
}

extension ManagedObjectContext {
  /// Updates the context's results controllers and notifies their observers.
  ///
  /// The context calls this method at the end of each save, merge, batch request, pin change, undo,
  /// rollback and reset, and at the end of ``performAndWait(_:)`` and
  /// ``BackgroundContext/perform(_:)``. After a change, the container's
  /// ``PersistentContainer/viewContext`` calls this method as soon as the main actor is free.
  /// Reading from a controller updates that controller immediately.
  public func processPendingChanges() {
    guard isFollowed || observer != nil || otherStoreContexts.contains(where: \.isFollowed) else {
      return
    }
    confinement?.enter()
    defer { confinement?.leave() }
    isProcessingScheduled = false
    for storeContext in storeContexts { storeContext.follower?.updateLists() }
    for storeContext in storeContexts { storeContext.observer?.notifyOfRecordedChanges() }
    for child in children {
      if let context = child.context, !context.isOwned { context.processPendingChanges() }
    }
  }

  /// Registers a follower to be notified of all later changes.
  func follow(_ follower: any ContextFollower) {
    self.follower = follower
    var next: ManagedObjectContext? = self
    while let context = next {
      context.isFollowed = true
      // Set the hooks, because without them the setters of new objects would not report changes.
      for object in context.inserted.all { object.setHooks(.writing) }
      next = context.parent
    }
  }

  /// Notifies the followers of this store context and its children that an object was changed.
  func notifyFollowers(of object: ManagedObject, isRefreshed: Bool) {
    follower?.recordChange(of: object, isRefreshed: isRefreshed)
    notifyFollowersOfChildren()
    scheduleProcessingOnce()
  }

  /// Notifies the followers of this store context and its children that any object may have lost
  /// its unsaved changes.
  func notifyFollowersOfAllObjects() {
    if observer != nil { rootContext.observer?.notifyOfContextChanges() }
    guard isFollowed else { return }
    follower?.recordChangeOfAllObjects()
    notifyFollowersOfChildren()
    scheduleProcessingOnce()
  }

  private func notifyFollowersOfChildren() {
    for child in children {
      guard let context = child.context, context.isFollowed else { continue }
      context.follower?.recordParentChange()
      context.notifyFollowersOfChildren()
    }
  }

  func scheduleProcessingOnce() {
    var top = rootContext
    while let parent = top.parent { top = parent }
    guard !top.isProcessingScheduled, let schedule = top.scheduleProcessing else { return }
    top.isProcessingScheduled = true
    schedule()
  }
}
