extension OpenSequence {
  /// Rejects file systems that cannot hold a store, before anything is created there.
  func requireSupportedVolume() throws(StorageError) {
    if let type = try fileSystem.volumeType(of: path) {
      return try type.requireSupported(path)
    }
    try fileSystem.volumeType(of: Self.parent(of: path))?.requireSupported(path)
  }
}
