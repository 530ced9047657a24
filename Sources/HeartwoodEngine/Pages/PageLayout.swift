/// The type of a page.
package enum PageKind: UInt8, Sendable {
  /// Keys and values of a tree.
  case leaf = 1
  /// Separator keys and child pages of a tree.
  case branch = 2
  /// One bit for each page in a range of the page file.
  case bitmap = 3
  /// Bytes of a value that is too large for a leaf.
  case overflow = 4
  /// The page numbers of overflow pages, or of other overflow index pages.
  case overflowIndex = 5
}

/// The common header of every page, identical in the log and in the page file.
///
///     0          8          16       20       24    25     26
///     ┌──────────┬──────────┬────────┬────────┬─────┬──────┬──────────────────────┐
///     │ hash     │ frame    │ page   │ tree   │kind │level │ kind's own fields …  │
///     └──────────┴──────────┴────────┴────────┴─────┴──────┴──────────────────────┘
///
/// The hash covers all bytes that follow it, and is seeded with the store's identity. The header
/// therefore identifies the page and its store. The frame number shows the age of the page, because
/// it identifies the log frame to which the page was written.
package enum PageLayout {
  package static let hash = Field("hash", at: 0, 8)
  package static let frame = Field("frame", at: 8, 8)
  package static let page = Field("page", at: 16, 4)
  package static let tree = Field("tree", at: 20, 4)
  package static let kind = Field("kind", at: 24, 1)
  package static let level = Field("level", at: 25, 1)
  package static let fields = [hash, frame, page, tree, kind, level]
}
