extension ManagedObjectContext {
  /// A Boolean value that indicates whether changes are recorded for ``undo()``.
  ///
  /// The default is `false`. The recorded changes are discarded by ``rollback()``, by ``reset()``,
  /// and by any save that merges a new object into an existing row. If ``discardsUndoOnSave`` is
  /// `true`, every save of changes discards them.
  public var tracksUndo: Bool {
    get { undoLog != nil }
    set {
      confinement?.enter()
      defer { confinement?.leave() }
      guard newValue != tracksUndo else { return }
      let log = newValue ? UndoLog() : nil
      log?.groupBegan = { [weak self] in
        if self?.groupsUndoByEvent == true { self?.scheduleProcessingOnce() }
        self?.undoGroupBegan?()
      }
      for storeContext in storeContexts {
        storeContext.undoLog = log
        storeContext.pendingValues = []
        // Set the hooks, because without them the setters of new objects would not report changes
        // to the undo log.
        for object in storeContext.inserted.all {
          object.setHooks(storeContext.hooksForNew(object, storeContext.entity(of: object)))
        }
      }
    }
  }

  /// A Boolean value that indicates whether there are changes that ``undo()`` can revert.
  public var canUndo: Bool { undoLog?.canUndo ?? false }
  /// A Boolean value that indicates whether there are changes that ``redo()`` can reapply.
  public var canRedo: Bool { undoLog?.canRedo ?? false }

  /// The maximum number of groups that can be undone, or `nil` for no limit.
  ///
  /// Each group keeps its objects in memory. Groups beyond the limit are discarded, starting with
  /// the oldest. The current group counts towards the limit only after it has ended. A negative
  /// limit is treated as 0. The limit applies only while ``tracksUndo`` is `true`.
  public var undoLimit: Int? {
    get { undoLog?.limit }
    set {
      performAndWait { undoLog?.limit = newValue.map { max($0, 0) } }
    }
  }

  /// The name of the group that ``undo()`` would revert, such as "Delete Note".
  ///
  /// A menu can show this name. Setting this property sets the name of the group that contains the
  /// last change.
  public var undoActionName: String? {
    get { undoLog?.undoName }
    set { performAndWait { undoLog?.undoName = newValue } }
  }

  /// The name of the group that ``redo()`` would reapply.
  public var redoActionName: String? { undoLog?.redoName }

  /// Ends the current group of changes, so that the next change starts a new group.
  ///
  /// ``undo()`` reverts all changes of a group together. A save that succeeds also ends the group,
  /// unless there were no changes to save.
  public func endUndoGroup() { performAndWait { undoLog?.endGroup() } }

  /// Reverts the last group of changes, if there is one.
  ///
  /// If the group has been saved, the next save stores the reverted state. If an object's deletion
  /// has been saved, the object is reinserted with its former values but a new ID.
  public func undo() { revertGroup({ $0.beginUndo() }) }

  /// Reapplies the last group that ``undo()`` reverted, unless other changes have been made since
  /// then.
  public func redo() {
    // Without a group to reapply, the open group must not end.
    if canRedo { revertGroup({ $0.beginRedo() }) }
  }

  /// Prepares the recorded groups so that saved changes can be undone, or discards the groups if
  /// ``discardsUndoOnSave`` is `true`.
  func keepUndoAfterSave() {
    if rootContext.discardsUndoOnSave { forgetUndo() } else { undoLog?.didSave() }
  }

  /// Ends the current event's undo groups, and calls ``processPendingChanges()``.
  ///
  /// The method ends the groups of this context and its children, but only in contexts whose
  /// ``groupsUndoByEvent`` is `true`.
  func endEvent() {
    isProcessingScheduled = false
    endUndoGroupsOfEvent()
    processPendingChanges()
  }

  private func endUndoGroupsOfEvent() {
    if groupsUndoByEvent { undoLog?.endGroup() }
    for child in children {
      if let context = child.context, !context.isOwned { context.endUndoGroupsOfEvent() }
    }
  }
}
