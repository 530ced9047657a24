/// A transaction's pages, and a flag that indicates whether its closure is still running.
///
/// A transaction, its keyspaces and its cursors share one scope. The scope keeps the pages alive
/// while any of these objects exists. Only one thread at a time may use a scope.
package final class TransactionScope {
  package let pages: WorkingPages
  private var isOpen = true

  package init(pages: WorkingPages) { self.pages = pages }

  /// Traps if the transaction's closure has returned.
  package func requireOpen() {
    precondition(
      isOpen,
      "A transaction, or one of its keyspaces or cursors, was used after the transaction's closure "
        + "had returned. Use transactions, keyspaces and cursors only inside the closure.")
  }

  package func end() { isOpen = false }
}
