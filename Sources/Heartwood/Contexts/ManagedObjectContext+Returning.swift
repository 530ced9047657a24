// This extension rereads objects that are treated as deleted because they were missing (I-01,
// N-04).
extension ManagedObjectContext {
  /// Loads the objects that were missing when they were first read but now exist in the parent.
  ///
  /// - Complexity: O(*m* log *m*) for *m* missing objects, plus one row read for each of them.
  func loadReturnedObjects() {
    guard let parent, !missing.isEmpty else { return }
    parent.loadReturnedObjects()
    var hasLoaded = false
    for number in missing.sorted() {
      guard let object = registeredObject(resolved(number)), object.isInaccessible else {
        missing.remove(number)
        continue
      }
      guard parent.relatableObject(object.number) != nil else { continue }
      missing.remove(number)
      loadAgain(object)
      hasLoaded = true
    }
    if hasLoaded { showHiddenMembers() }
  }

  /// Loads edited objects that were missing when they were read but whose rows now exist, so that
  /// the next save stores the edits.
  ///
  /// - Complexity: O(objects deleted in this context), plus one row read for each missing object
  ///   that has edits.
  func loadReturnedEdits() {
    var hasLoaded = false
    for object in deleted where object.isInaccessible && object.changes?.isEmpty == false {
      loadIfReturned(object.number)
      if !object.isDeleted { hasLoaded = true }
    }
    if hasLoaded { showHiddenMembers() }
  }

  /// Loads an object that was missing in this context or in its parents, if its row now exists.
  private func loadIfReturned(_ number: ObjectNumber) {
    parent?.loadIfReturned(number)
    guard let object = registeredObject(number), object.isInaccessible, isPresent(object) else {
      return
    }
    loadAgain(object)
  }

  /// Loads an object that was missing when it was first read, and keeps its unsaved changes.
  ///
  /// If the object is still missing, it continues to be treated as deleted.
  func loadAgain(_ object: ManagedObject) {
    unmarkDeleted(object)
    notifyObservers(of: object, as: \.refreshed)
    fire(object)
  }
}
