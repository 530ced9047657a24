/// The state of a transaction's keyspace: flags that indicate whether the keyspace may be used.
///
/// A keyspace, its iterations and its cursors share one scope. Only one thread at a time may use a
/// scope.
package class KeyspaceScope {
  final let transaction: TransactionScope
  final var isRemoved = false
  /// A Boolean value that indicates whether the keyspace is being bulk-loaded.
  ///
  /// During a bulk load, no other code may use the keyspace.
  final var isLoading = false

  init(transaction: TransactionScope) { self.transaction = transaction }

  /// Traps if the transaction's closure has returned, or if the keyspace was removed or is being
  /// bulk-loaded.
  final func requireUsable() {
    transaction.requireOpen()
    precondition(
      !isRemoved,
      "A keyspace was used after it had been removed, or after the savepoint that created it had "
        + "been rolled back. Get the keyspace from the transaction again.")
    precondition(
      !isLoading,
      "A keyspace was used while it was being bulk-loaded. Use it only after the bulk load has "
        + "returned.")
  }
}
