import Heartwood

extension MergePolicy {
  /// All policies, by name; the custom one accepts the default result.
  enum Each: String, CaseIterable {
    case error, storeTrump, objectTrump, overwrite, rollback, custom

    /// The policies that keep edits of objects that others have changed.
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

    /// Whether the values in the context win.
    var prefersMine: Bool { self == .objectTrump || self == .overwrite || self == .custom }

    /// Whether the values in the store win if they differ from those that were read.
    var keepsStore: Bool { self == .storeTrump || self == .rollback }
  }
}
