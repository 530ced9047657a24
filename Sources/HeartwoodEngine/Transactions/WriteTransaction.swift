/// The next generation while it is made; valid within the closure of `Store.write` only.
///
/// It reads its own changes. Nothing of it is visible to others before the closure has returned and
/// the commit is done. Using it, one of its keyspaces or a cursor after the closure traps.
public struct WriteTransaction {
  let session: WriteSession

  /// The keyspace of this name, made on first use.
  ///
  /// - Throws: `tooLarge` for a name of no or too many bytes; `corrupt` or `io` if the catalog
  ///   cannot be read.
  public func keyspace(_ name: String) throws -> KeyspaceWriter {
    KeyspaceWriter(session: session, keyspace: try session.keyspace(name))
  }

  /// Removes a keyspace and everything in it; nothing happens if there is none of this name.
  ///
  /// - Complexity: Every page of the keyspace is read once, to give it back.
  public func removeKeyspace(_ name: String) throws {
    _ = try session.removeKeyspace(name)
  }

  /// The names of all keyspaces, in order.
  public var keyspaceNames: [String] {
    get throws {
      session.requireOpen()
      return try Catalog.rows(in: session.pages.view).map(\.name)
    }
  }
}
