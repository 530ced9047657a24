extension Store {
  /// The semantic version of the library, as in `Docs/Changelog.md`.
  public static let libraryVersion = "0.1.0-dev"
}
