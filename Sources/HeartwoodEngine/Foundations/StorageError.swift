/// An error thrown by a store.
///
/// The engine throws no other type of error. An error reports corrupt bytes in a file or a failure
/// of the environment, such as a full disk or a lock held by another process. Some programming
/// errors, such as using a transaction after its closure has returned, cause a trap instead.
/// Printing an error shows its ``message`` and, if they are known, the file, page and error number.
public struct StorageError: Error, Hashable, Sendable {
  /// The kind of failure.
  ///
  /// The type is a struct rather than an enumeration, so that new kinds do not break existing
  /// `switch` statements.
  public struct Kind: Hashable, Sendable {
    let name: String

    /// The requested generation is no longer live, or was never committed.
    public static let generationExpired = Kind(name: "generationExpired")
    /// The token or generation belongs to another store.
    ///
    /// The engine also throws this error if a file of the store was deleted or replaced while the
    /// store was open.
    public static let foreignStore = Kind(name: "foreignStore")
    /// The store contains corrupt bytes.
    public static let corrupt = Kind(name: "corrupt")
    /// Another process or thread held a lock for longer than the timeout, or files kept changing
    /// while they were being read.
    public static let busy = Kind(name: "busy")
    /// A key, a value or a name is larger than its limit.
    public static let tooLarge = Kind(name: "tooLarge")
    /// The store is open for reading only.
    public static let readOnly = Kind(name: "readOnly")
    /// The operating system reported an error while reading or writing.
    public static let io = Kind(name: "io")
    /// The device is full, a quota is exhausted, or a file would exceed the file size limit.
    public static let diskFull = Kind(name: "diskFull")
    /// The store has been closed.
    public static let closed = Kind(name: "closed")
    /// The store is suspended.
    public static let suspended = Kind(name: "suspended")
    /// The parent of this process opened the store before `fork`.
    public static let forked = Kind(name: "forked")
    /// The file system lacks a feature that the store requires.
    public static let unsupportedFileSystem = Kind(name: "unsupportedFileSystem")
    /// The store was written in a format, or with a feature, that this version does not support.
    public static let incompatibleFormat = Kind(name: "incompatibleFormat")
    /// There is no Heartwood store at the path.
    public static let notAStore = Kind(name: "notAStore")
    /// An earlier write or sync failed.
    ///
    /// The store accepts no writes until it is reopened.
    public static let writesDisabled = Kind(name: "writesDisabled")
    /// An argument is invalid.
    ///
    /// The message explains which argument is invalid, and why.
    public static let invalidArgument = Kind(name: "invalidArgument")
  }

  /// The kind of failure.
  public var kind: Kind
  /// A description of what happened and what to do about it.
  public var message: String
  /// The affected file, as a path or as a name within the store, or `nil` if no particular file is
  /// known to be affected.
  public var file: String?
  /// The number of the affected page, or `nil` if no particular page is known to be affected.
  public var page: UInt32?
  /// The operating system's error number, or `nil` if the error did not come from a system call.
  public var errno: Int32?
  /// A Boolean value that indicates whether the failed call left everything unchanged.
  ///
  /// If the value is `true`, writing can continue.
  package var changedNothing = false

  /// Creates an error.
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
  /// The message, followed by the file, page and error number if they are known.
  public var description: String {
    var details: [String] = []
    if let file { details.append(file) }
    if let page { details.append("page \(page)") }
    if let errno { details.append("errno \(errno)") }
    return details.isEmpty ? message : "\(message) [\(details.joined(separator: ", "))]"
  }
}

extension StorageError.Kind: CustomStringConvertible {
  /// The name of the kind, such as "diskFull".
  public var description: String { name }
}

extension StorageError {
  /// Creates an error for a call that changed nothing.
  package static func unchanged(
    _ kind: Kind, _ message: String, file: String? = nil, errno: Int32? = nil
  ) -> StorageError {
    var error = StorageError(kind, message, file: file, errno: errno)
    error.changedNothing = true
    return error
  }

  /// The error to report if this error caused a sync to fail.
  ///
  /// The kind is `io` even if the disk is full, because writing continues after `diskFull`. After a
  /// failed sync, however, the system may regard bytes as written although they are not on disk, so
  /// the success of a later sync proves nothing about these bytes.
  package var endingSync: StorageError {
    changedNothing ? self : StorageError(.io, message, file: file, errno: errno)
  }

  package static func corrupt(
    _ message: String, file: String? = nil, page: PageNumber? = nil
  ) -> StorageError {
    StorageError(.corrupt, message, file: file, page: page)
  }

  /// Returns the error for a call on a closed store.
  static func closed(_ directory: String? = nil) -> StorageError {
    StorageError(.closed, "The store has been closed. Open it again.", file: directory)
  }
}
