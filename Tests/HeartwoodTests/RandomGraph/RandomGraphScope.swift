/// What random runs do, and how often: the one place where something is left out, with the reason.
enum RandomGraphScope {
  /// How often each operation is chosen, relative to the others; 0 leaves it out.
  static let weights: [(operation: CrewOperation, weight: Int)] = [
    (.insert, 14), (.set, 24), (.setSame, 3), (.setBack, 2), (.relate, 20), (.toggle, 16),
    (.reorder, 6), (.delete, 7), (.insertAgain, 2), (.save, 14), (.rollback, 2), (.reset, 1),
    (.undo, 6), (.redo, 5), (.endUndoGroup, 10), (.refresh, 2), (.drop, 1), (.refreshAll, 1),
    (.sync, 3), (.obtainIDs, 1), (.lookUp, 3), (.count, 4), (.fetch, 2), (.detectConflicts, 1),
    (.batchInsert, 2), (.batchUpdate, 2), (.batchDelete, 1), (.nested, 2), (.pin, 2), (.unpin, 1),
    (.mergeHistory, 3), (.mergeChangeSet, 2), (.merging, 1), (.deleteHistory, 1),
  ]

  /// Whether an object that was set to the value it has, or undone, is no changed one.
  static let isUpdatedExact = false
  /// Whether an object without edits is not written (C-05), so that the history does not name it.
  static let areUnchangedLeftAlone = true
  /// Whether a unique constraint has 0.0 and -0.0 as one value.
  static let areZerosOneValue = true
  /// Whether those that a rule keeps from losing a new object forget it when it is deleted.
  static let areDeniedFreedOfNew = true
  /// Whether rolling back restores who was a member of an object that could not be deleted.
  static let areDeniedRestored = false
  /// Whether a context that merges by itself does so before a save with changes, too (QG-35).
  static let mergesBeforeSaving = true
  /// Whether a context that merges by itself goes on when the history was deleted.
  static let outlivesHistory = true
  /// Whether each row of a batch insertion has declared values of its own (BR-01).
  static let areRowsLikeNewObjects = true
  /// Whether a deletion that was refreshed still meets what others change afterwards (C-10).
  static let areDeletionsRefreshed = true
  /// Whether both sides of every relationship agree in a context that has met others' changes.
  static let agreesInSavingContext = true
  /// Whether a reference without an inverse that was left behind by a deletion is no conflict.
  static let areLeftReferencesForgotten = false
  /// Whether new objects that were rolled back keep their attributes, and nothing else (S-08).
  static let areLeftObjectsReadable = true
  /// Whether an object whose row others have deleted is freed, too, if it holds itself.
  static let areGoneObjectsFreed = true
  /// Whether texts that differ only in how letters are composed are different values.
  static let areComposedTextsDistinct = true
  /// Whether objects that were taken back are freed, those that hold each other too.
  static let areLeftObjectsFreed = true
  /// Whether objects are related to themselves.
  static let relatesToItself = false
  /// Whether setting an attribute to the value it has leaves nothing that could be undone.
  static let isSettingSameNothingToUndo = false
}
