/// Who keeps lists of objects of a context up to date, and is told what becomes of the objects.
protocol ContextFollower: AnyObject {
  /// An object was changed, or read again.
  func note(_ object: ManagedObject, isRefreshed: Bool)
  /// Objects that had changes may have none any more.
  func noteAll()
  /// Something has changed in a context above.
  func noteAbove()
  /// An object was given another number.
  func noteNumber(_ new: ObjectNumber, insteadOf old: ObjectNumber)
  /// Takes over what was told.
  func updateLists()
}

extension ManagedObjectContext {
  /// Has the results controllers of the context show what has changed, and tell of it.
  ///
  /// A save, a merge, a batch request, another pin, an undo, a rollback and a reset do so in the
  /// end, as does ``performAndWait(_:)`` and what a ``BackgroundContext`` performs; the
  /// container's ``PersistentContainer/viewContext`` does so as soon as the main actor is free. A
  /// controller that is asked does so at once.
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

  /// Has somebody told of what happens here from now on.
  func follow(_ follower: any ContextFollower) {
    self.follower = follower
    var next: ManagedObjectContext? = self
    while let context = next {
      context.isFollowed = true
      // New objects do not tell of what is set otherwise.
      for object in context.inserted.all { object.setHelp(.writing) }
      next = context.parent
    }
  }

  /// Tells those who follow this part, and those below, that an object was changed.
  func tellFollowers(of object: ManagedObject, isRefreshed: Bool) {
    follower?.note(object, isRefreshed: isRefreshed)
    tellFollowersBelow()
    scheduleProcessingOnce()
  }

  /// Tells them that all objects with changes may be others now.
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
