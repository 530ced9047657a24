extension OpenSequence {
  /// Refuses file systems on which no store can be, before anything is made there.
  func requireSupportedVolume() throws(StorageError) {
    if let type = try fileSystem.volumeType(of: path) {
      return try type.requireSupported(path)
    }
    try fileSystem.volumeType(of: Self.parent(of: path))?.requireSupported(path)
  }
}
