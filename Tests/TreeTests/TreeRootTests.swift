import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Tests which pages are accepted as the root of a tree, whatever the catalog contains.
@Suite("The root of a tree")
struct TreeRootTests {
  @Test(.evidence("B3")) func `is a node of that tree`() throws {
    let fixture = try TreeFixture(pageByteCount: 4096)
    let root = fixture.root
    fixture.view.release(try fixture.view.root(root))
    let others = [
      TreeRoot(tree: root.tree + 1, page: root.page), TreeRoot(tree: root.tree, page: 0),
      TreeRoot(tree: 0, page: 0), TreeRoot(tree: root.tree, page: fixture.pages.pageCount),
    ]
    for other in others {
      let error = #expect(throws: StorageError.self) { try fixture.view.root(other) }
      #expect(error?.kind == .corrupt)
      #expect(error?.page == other.page)
    }
    #expect(fixture.pinnedCount == 0)
  }

  @Test(.evidence("B3")) func `has children of that tree one level below it`() throws {
    let fixture = try TreeFixture(pageByteCount: 4096)
    let page = fixture.root.page
    let tree = fixture.root.tree
    fixture.view.release(try fixture.view.node(page, tree: tree, level: 0))
    for (tree, level) in [(tree, 1), (tree, 256), (tree + 1, 0)] {
      let error = #expect(throws: StorageError.self) {
        try fixture.view.node(page, tree: tree, level: level)
      }
      #expect(error?.kind == .corrupt)
    }
    #expect(fixture.pinnedCount == 0)
  }
}
