import Heartwood

extension MergePolicy {
  /// All policies, by name; the custom one takes what it is given.
  enum Each: String, CaseIterable {
    case error, storeTrump, objectTrump, overwrite, rollback, custom

    /// Those that keep edits of objects that others have changed.
    static let merging = [Each.storeTrump, .objectTrump, .overwrite]

    var policy: MergePolicy {
      switch self {
      case .error: .error
      case .storeTrump: .mergeByPropertyStoreTrump
      case .objectTrump: .mergeByPropertyObjectTrump
      case .overwrite: .overwrite
      case .rollback: .rollback
      case .custom: .custom { _ in }
      }
    }

    /// Whether what the context has counts.
    var prefersMine: Bool { self == .objectTrump || self == .overwrite || self == .custom }

    /// Whether what the store has counts, where it is another than was read.
    var keepsStore: Bool { self == .storeTrump || self == .rollback }
  }
}
