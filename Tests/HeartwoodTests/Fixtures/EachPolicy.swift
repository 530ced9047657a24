import Heartwood

extension MergePolicy {
  /// All merge policies; the custom policy accepts the default result.
  enum Each: String, CaseIterable {
    case error, storeTrump, objectTrump, overwrite, rollback, custom

    /// The policies that keep this context's edits to objects that other contexts have changed.
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

    /// A Boolean value that indicates whether the policy resolves conflicts in favour of the values
    /// in the context.
    var prefersMine: Bool { self == .objectTrump || self == .overwrite || self == .custom }

    /// A Boolean value that indicates whether the store keeps the values that other contexts have
    /// written.
    var keepsStore: Bool { self == .storeTrump || self == .rollback }
  }
}
