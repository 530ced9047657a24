/// The pages of a transaction, and whether its closure still runs.
///
/// Everything that reads from a transaction holds its scope: the pages live as long as something
/// may refer to them, and use after the closure is detected. For one thread at a time.
package final class TransactionScope {
  package let pages: WorkingPages
  private var isOpen = true

  package init(pages: WorkingPages) { self.pages = pages }

  /// Traps if the transaction's closure has returned.
  package func requireOpen() {
    precondition(isOpen, "a transaction, its keyspace or its cursor was used after its closure")
  }

  /// Ends the period in which the transaction may be used.
  package func end() { isOpen = false }
}
