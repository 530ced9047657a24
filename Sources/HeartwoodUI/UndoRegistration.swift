#if canImport(SwiftUI)
  public import Foundation
  public import Heartwood
  public import SwiftUI

  extension ManagedObjectContext {
    /// Registers a view context's changes with an undo manager, such as the one in the environment.
    ///
    /// The system's Undo and Redo commands then revert and reapply the changes.
    ///
    /// ```swift
    /// .onAppear { if let undoManager { context.registerUndo(with: undoManager) } }
    /// ```
    ///
    /// The method also turns on undo tracking in the context, and puts all changes that are made
    /// during one event into one undo group. After calling ``rollback()`` or ``reset()``, call
    /// `removeAllActions(withTarget:)` on the undo manager.
    @MainActor
    public func registerUndo(with manager: UndoManager) {
      tracksUndo = true
      groupsUndoByEvent = true
      undoGroupBegan = { [weak self, weak manager] in
        guard let self, let manager else { return }
        nonisolated(unsafe) let context = self
        MainActor.assumeIsolated { context.register(isRedo: false, with: manager) }
      }
    }

    /// Registers an action that undoes or redoes one group and then registers the opposite action.
    @MainActor
    private func register(isRedo: Bool, with manager: UndoManager) {
      manager.registerUndo(withTarget: self) { [weak manager] context in
        nonisolated(unsafe) let context = context
        MainActor.assumeIsolated {
          if isRedo { context.redo() } else { context.undo() }
          if let manager { context.register(isRedo: !isRedo, with: manager) }
        }
      }
    }
  }
#endif
