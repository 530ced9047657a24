/// What went wrong in a store: the one error type of the engine.
///
/// The world (a full disk, a held lock) and bad bytes in files arrive here. Misuse of the API that
/// the language could have caught traps instead. `print` shows the sentence in ``message`` and
/// where it happened.
public struct StorageError: Error, Hashable, Sendable {
  /// The kind of failure; a struct, so that new kinds do not break a program's `switch`.
  public struct Kind: Hashable, Sendable {
    let name: String

    /// The generation asked for is no longer live, or never was a commit.
    public static let generationExpired = Kind(name: "generationExpired")
    /// A token or generation belongs to another store.
    public static let foreignStore = Kind(name: "foreignStore")
    /// Bytes of the store are damaged.
    public static let corrupt = Kind(name: "corrupt")
    /// A lock is held by somebody else, and the time to wait is over.
    public static let busy = Kind(name: "busy")
    /// A key, a value or a name is larger than its limit.
    public static let tooLarge = Kind(name: "tooLarge")
    /// The store was opened for reading only.
    public static let readOnly = Kind(name: "readOnly")
    /// The operating system reported an error while reading or writing.
    public static let io = Kind(name: "io")
    /// There is no space left on the device, or a quota is used up.
    public static let full = Kind(name: "full")
    /// The store has been closed.
    public static let closed = Kind(name: "closed")
    /// The store was suspended, and not resumed yet.
    public static let suspended = Kind(name: "suspended")
    /// The store was opened by the parent of this process, before `fork`.
    public static let forked = Kind(name: "forked")
    /// The file system lacks something the store cannot do without.
    public static let unsupportedFileSystem = Kind(name: "unsupportedFileSystem")
    /// The store was written in a format, or with a feature, this version does not know.
    public static let incompatibleFormat = Kind(name: "incompatibleFormat")
    /// What lies at the path is no Heartwood store.
    public static let notAStore = Kind(name: "notAStore")
    /// An earlier write or sync failed; the store takes no more writes until it is opened again.
    public static let failed = Kind(name: "failed")
    /// An argument has no meaning here; the message says which and why.
    public static let invalidArgument = Kind(name: "invalidArgument")
  }

  /// The kind of failure.
  public var kind: Kind
  /// A sentence: what happened and what to do about it.
  public var message: String
  /// The file concerned, as a path or a name within the store.
  public var file: String?
  /// The number of the page concerned.
  public var page: UInt32?
  /// The operating system's error number.
  public var errno: Int32?
  /// Whether the call that failed has changed nothing, so that writing can go on.
  ///
  /// One that had no descriptor left for a file, for example.
  package var changedNothing = false

  /// Describes a failure.
  public init(
    _ kind: Kind, _ message: String, file: String? = nil, page: UInt32? = nil, errno: Int32? = nil
  ) {
    self.kind = kind
    self.message = message
    self.file = file
    self.page = page
    self.errno = errno
  }
}

extension StorageError: CustomStringConvertible {
  /// The message, followed by file, page and error number where they are known.
  public var description: String {
    var place: [String] = []
    if let file { place.append(file) }
    if let page { place.append("page \(page)") }
    if let errno { place.append("errno \(errno)") }
    return place.isEmpty ? message : "\(message) [\(place.joined(separator: ", "))]"
  }
}

extension StorageError.Kind: CustomStringConvertible {
  /// The name of the static member.
  public var description: String { name }
}

extension StorageError {
  /// The failure of a call that has changed nothing.
  package static func unchanged(
    _ kind: Kind, _ message: String, file: String? = nil, errno: Int32? = nil
  ) -> StorageError {
    var error = StorageError(kind, message, file: file, errno: errno)
    error.changedNothing = true
    return error
  }

  /// Bytes of `file` that cannot be what a store wrote there.
  package static func corrupt(
    _ message: String, file: String? = nil, page: PageNumber? = nil
  ) -> StorageError {
    StorageError(.corrupt, message, file: file, page: page)
  }
}
