public import Foundation

extension PersistentContainer {
  /// Removes a store and all its data, or does nothing if no store exists at the URL.
  ///
  /// ```swift
  /// try PersistentContainer.destroyStore(at: url)
  /// ```
  ///
  /// Release all containers, contexts and objects of the store before calling this method. If a
  /// crash interrupts the method, the store is either left intact or removed completely.
  ///
  /// - Throws: `busy` if this or another process still has the store open after one second;
  ///   `notAStore` if the directory contains other files; `io` if a file operation fails.
  public static func destroyStore(at url: URL) throws { try Store.destroy(at: url.path) }

  /// Moves a store to another URL on the same volume.
  ///
  /// Object IDs and tokens stay valid. If a crash interrupts the method, the complete store is at
  /// either the old or the new URL.
  ///
  /// - Parameters:
  ///   - source: The URL of a store.
  ///   - target: A URL at which nothing exists yet. Its parent directory must exist.
  /// - Throws: `busy` if this or another process still has the store open after one second;
  ///   `notAStore` if there is no store at `source`; `invalidArgument` if something exists at
  ///   `target`; `io` if a file operation fails, for example because the URLs are on different
  ///   volumes.
  public static func moveStore(from source: URL, to target: URL) throws {
    try Store.move(from: source.path, to: target.path)
  }

  /// Replaces a store with another store on the same volume, such as a backup.
  ///
  /// The method moves the replacement store from `source` to `url`.
  ///
  /// If a crash interrupts the method, the next attempt to open the store opens either the old
  /// store or the new one.
  ///
  /// - Parameters:
  ///   - url: The URL of the store to replace, or a URL at which no store exists.
  ///   - source: The URL of the replacement store.
  /// - Throws: `busy` if this or another process still has either store open after one second;
  ///   `notAStore` if there is no store at `source`, or if the directory at `url` contains other
  ///   files; `io` if a file operation fails.
  public static func replaceStore(at url: URL, withStoreAt source: URL) throws {
    try Store.replace(at: url.path, with: source.path)
  }
}
