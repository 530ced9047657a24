/// An object that maintains lists of a context's objects, and is notified of their changes.
protocol ContextFollower: AnyObject {
  /// Called after an object was changed, or read again.
  func note(_ object: ManagedObject, isRefreshed: Bool)
  /// Called after objects may have lost their changes.
  func noteAll()
  /// Called after something changed in a parent context.
  func noteAbove()
  /// Called after an object was renumbered.
  func noteNumber(_ new: ObjectNumber, insteadOf old: ObjectNumber)
  /// Applies the recorded changes to the lists.
  func updateLists()
}

extension ManagedObjectContext {
  /// Updates the results controllers of the context, and notifies their observers.
  ///
  /// Saves, merges, batch requests, changes of the pin, undo, rollback and reset end with this
  /// call, and so do ``performAndWait(_:)`` and the operations of a ``BackgroundContext``. The
  /// container's ``PersistentContainer/viewContext`` does it as soon as the main actor is free.
  /// Reading from a controller does it immediately.
  public func processPendingChanges() {
    guard isFollowed || observer != nil || others.contains(where: \.isFollowed) else { return }
    confinement?.enter()
    defer { confinement?.leave() }
    isProcessingScheduled = false
    for part in parts { part.follower?.updateLists() }
    for part in parts { part.observer?.tellOfNoted() }
    for child in children {
      if let context = child.context, !context.isPart { context.processPendingChanges() }
    }
  }

  /// Registers a follower of the changes from now on.
  func follow(_ follower: any ContextFollower) {
    self.follower = follower
    var next: ManagedObjectContext? = self
    while let context = next {
      context.isFollowed = true
      // The setters of new objects report nothing otherwise.
      for object in context.inserted.all { object.setHelp(.writing) }
      next = context.parent
    }
  }

  /// Notifies the followers of this store context and its children that an object was changed.
  func tellFollowers(of object: ManagedObject, isRefreshed: Bool) {
    follower?.note(object, isRefreshed: isRefreshed)
    tellFollowersBelow()
    scheduleProcessingOnce()
  }

  /// Notifies them that any object with changes may have changed.
  func tellFollowersOfAll() {
    if observer != nil { whole.observer?.tellOfContext() }
    guard isFollowed else { return }
    follower?.noteAll()
    tellFollowersBelow()
    scheduleProcessingOnce()
  }

  private func tellFollowersBelow() {
    for child in children {
      guard let context = child.context, context.isFollowed else { continue }
      context.follower?.noteAbove()
      context.tellFollowersBelow()
    }
  }

  func scheduleProcessingOnce() {
    var top = whole
    while let parent = top.parent { top = parent }
    guard !top.isProcessingScheduled, let schedule = top.scheduleProcessing else { return }
    top.isProcessingScheduled = true
    schedule()
  }
}
