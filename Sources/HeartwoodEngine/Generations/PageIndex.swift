package import Synchronization

/// Which log frame holds the newest image of each page, as of one state: a persistent radix tree.
///
/// A commit copies the few nodes it changes and shares the rest with the state before it; a state
/// owns its root, and nodes that no state can reach are freed at once. Lookups follow raw pointers:
/// no retain, no lock. Pages without an entry are in the page file.
///
/// - Note: `@unchecked` because nodes are counted atomically and never changed once shared.
package final class PageIndex: @unchecked Sendable {
  /// A node: its reference count, then 64 words: frames in leaves, nodes above them.
  package typealias Node = UnsafeMutablePointer<UInt64>

  private static let fanoutShift = 6
  private static let fanout = 1 << fanoutShift
  private static let slotMask = UInt32(fanout - 1)

  /// The top node, or `nil` for an empty index.
  package private(set) var root: Node?
  /// Levels below the root.
  package private(set) var depth = 0
  /// Nodes made minus nodes freed by this process; for tests.
  package static let liveNodeCount = Atomic<Int>(0)

  package init() {}

  /// A second index with the same entries.
  package init(sharing other: PageIndex) {
    root = other.root
    depth = other.depth
    if let root { Self.retain(root) }
  }

  deinit {
    if let root { Self.release(root, depth: depth) }
  }

  /// The frame that holds `page`, or 0.
  @inline(__always)
  package static func frame(of page: PageNumber, root: Node?, depth: Int) -> FrameNumber {
    guard var node = root else { return 0 }
    var level = depth
    let covered = (level &+ 1) &* fanoutShift
    if covered < 32, page &>> UInt32(covered) != 0 { return 0 }
    while level > 0 {
      let slot = Int((page &>> UInt32(level &* fanoutShift)) & slotMask)
      guard let child = Node(bitPattern: UInt(node[slot &+ 1])) else { return 0 }
      node = child
      level &-= 1
    }
    return node[Int(page & slotMask) &+ 1]
  }

  package func frame(of page: PageNumber) -> FrameNumber {
    Self.frame(of: page, root: root, depth: depth)
  }

  /// Enters or replaces the frame of a page.
  ///
  /// Only for an index no other thread can see yet. Nodes that other states share are copied first.
  package func set(_ page: PageNumber, to frame: FrameNumber) {
    var top = root ?? Self.makeNode()
    while (depth + 1) * Self.fanoutShift < 32, page >> UInt32((depth + 1) * Self.fanoutShift) != 0 {
      let above = Self.makeNode()
      above[1] = UInt64(UInt(bitPattern: top))
      top = above
      depth += 1
    }
    top = Self.unshared(top, level: depth)
    root = top
    var node = top
    var level = depth
    while level > 0 {
      let slot = Int((page >> UInt32(level * Self.fanoutShift)) & Self.slotMask)
      var child = Node(bitPattern: UInt(node[slot + 1])) ?? Self.makeNode()
      child = Self.unshared(child, level: level - 1)
      node[slot + 1] = UInt64(UInt(bitPattern: child))
      node = child
      level -= 1
    }
    node[Int(page & Self.slotMask) + 1] = frame
  }

  /// Calls `body` for every entry, in page order.
  package func forEach(_ body: (PageNumber, FrameNumber) -> Void) {
    guard let root else { return }
    Self.visit(root, depth, 0, body)
  }

  // Recursion over at most six levels of this process's own memory.
  private static func visit(
    _ node: Node, _ level: Int, _ prefix: UInt64, _ body: (PageNumber, FrameNumber) -> Void
  ) {
    for slot in 0..<fanout where node[slot + 1] != 0 {
      let number = prefix << UInt64(fanoutShift) | UInt64(slot)
      if level == 0 {
        body(PageNumber(truncatingIfNeeded: number), node[slot + 1])
      } else if let child = Node(bitPattern: UInt(node[slot + 1])) {
        visit(child, level - 1, number, body)
      }
    }
  }

  // MARK: Nodes

  private static func count(of node: Node) -> UnsafeMutablePointer<Atomic<UInt64>> {
    UnsafeMutableRawPointer(node).assumingMemoryBound(to: Atomic<UInt64>.self)
  }

  private static func makeNode() -> Node {
    let node = Node.allocate(capacity: fanout + 1)
    node.initialize(repeating: 0, count: fanout + 1)
    node[0] = 1
    liveNodeCount.wrappingAdd(1, ordering: .relaxed)
    return node
  }

  private static func retain(_ node: Node) {
    count(of: node).pointee.wrappingAdd(1, ordering: .relaxed)
  }

  private static func release(_ node: Node, depth: Int) {
    guard
      count(of: node).pointee.wrappingSubtract(1, ordering: .acquiringAndReleasing).newValue == 0
    else { return }
    if depth > 0 {
      for slot in 1...fanout {
        if let child = Node(bitPattern: UInt(node[slot])) { release(child, depth: depth - 1) }
      }
    }
    node.deallocate()
    liveNodeCount.wrappingSubtract(1, ordering: .relaxed)
  }

  /// The node itself if this index alone has it, else a copy; takes over the caller's reference.
  private static func unshared(_ node: Node, level: Int) -> Node {
    if count(of: node).pointee.load(ordering: .acquiring) == 1 { return node }
    let copy = Node.allocate(capacity: fanout + 1)
    copy.initialize(from: node, count: fanout + 1)
    copy[0] = 1
    liveNodeCount.wrappingAdd(1, ordering: .relaxed)
    if level > 0 {
      for slot in 1...fanout {
        if let child = Node(bitPattern: UInt(copy[slot])) { retain(child) }
      }
    }
    release(node, depth: level)
    return copy
  }
}
