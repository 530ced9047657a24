package import Synchronization

/// A copy-on-write radix tree that maps the pages in the log to their newest frames in one state.
///
/// A commit copies the few nodes that it changes, and shares the rest with the previous state. A
/// state owns its root, and nodes without remaining references are freed immediately. Lookups
/// follow raw pointers, without a retain or a lock.
///
/// - Note: `@unchecked` is safe because nodes are reference-counted atomically and never change
///   once they are shared.
package final class PageIndex: @unchecked Sendable {
  package private(set) var root: Node?
  /// The number of levels below the root.
  package private(set) var depth = 0
  /// The number of nodes that exist in this process, for tests.
  package static let liveNodeCount = Atomic<Int>(0)
  package static let liveByteCount = Atomic<Int>(0)

  package init() {}

  /// Creates an index that has the same entries as `other` and shares its nodes.
  package init(sharing other: PageIndex) {
    root = other.root
    depth = other.depth
    root?.retain()
  }

  deinit { root?.release(level: depth) }

  @inline(__always)
  private static func slot(of page: PageNumber, _ level: Int) -> Int {
    let shift = PageNumber(truncatingIfNeeded: level &* Node.slotShift)
    return Int(truncatingIfNeeded: (page &>> shift) & PageNumber(Node.slotCount - 1))
  }

  @inline(__always)
  private static func isBeyond(_ page: PageNumber, _ depth: Int) -> Bool {
    let covered = (depth &+ 1) &* Node.slotShift
    return covered < PageNumber.bitWidth
      && page &>> PageNumber(truncatingIfNeeded: covered) != 0
  }

  /// Returns the frame of `page` in an index with this root and depth, or 0 if `page` has no entry.
  @inline(__always)
  package static func frame(of page: PageNumber, root: Node?, depth: Int) -> FrameNumber {
    guard var node = root, !isBeyond(page, depth) else { return 0 }
    var level = depth
    while level > 0 {
      guard let child = Node(word: node.word(slot(of: page, level))) else { return 0 }
      node = child
      level &-= 1
    }
    return node.word(slot(of: page, 0))
  }

  package func frame(of page: PageNumber) -> FrameNumber {
    Self.frame(of: page, root: root, depth: depth)
  }

  /// Maps `page` to `frame`, copying the nodes that are shared with other states.
  ///
  /// `frame` must not be 0.
  ///
  /// - Precondition: No other thread can access the index.
  package func set(_ page: PageNumber, to frame: FrameNumber) {
    while Self.isBeyond(page, depth) {
      if let below = root {
        let above = Node.owned(nil, holding: 0, level: depth + 1)
        above.setWord(below.asWord, 0, newest: below.newest)
        root = above
      }
      depth += 1
    }
    root = Self.entering(page, frame, in: root, level: depth)
  }

  /// Maps `page` to `frame` in `node`, or in a copy of `node` if `node` is shared or too small.
  ///
  /// The method returns the changed node, and consumes the caller's reference to `node`.
  // The recursion cannot overflow the stack: it is at most six levels deep, and its nodes are
  // not read from a file.
  private static func entering(
    _ page: PageNumber, _ frame: FrameNumber, in node: Node?, level: Int
  ) -> Node {
    let slot = slot(of: page, level)
    let node = Node.owned(node, holding: slot, level: level)
    var word = frame
    if level > 0 {
      let child = Node(word: node.word(slot))
      word = entering(page, frame, in: child, level: level - 1).asWord
    }
    node.setWord(word, slot, newest: frame)
    return node
  }

  /// Calls `body` for every entry with a frame above `limit`, in page order.
  ///
  /// The method visits only the paths to these entries, so the cost does not depend on the size of
  /// the index.
  package func forEach(
    newerThan limit: FrameNumber = 0, _ body: (PageNumber, FrameNumber) -> Void
  ) {
    guard let root, root.newest > limit else { return }
    Self.visit(root, depth, 0, limit, body)
  }

  /// Returns whether the index has an entry with a frame at or below `limit`.
  ///
  /// - Complexity: O(n) for an index with n entries.
  func hasFrames(upTo limit: FrameNumber) -> Bool {
    var isFound = false
    forEach { _, frame in isFound = isFound || frame <= limit }
    return isFound
  }

  // The recursion cannot overflow the stack: it is at most six levels deep, and its nodes are
  // not read from a file.
  private static func visit(
    _ node: Node, _ level: Int, _ prefix: UInt64, _ limit: FrameNumber,
    _ body: (PageNumber, FrameNumber) -> Void
  ) {
    node.forEachWord { slot, word in
      let number = prefix << UInt64(Node.slotShift) | UInt64(slot)
      if level == 0 {
        if word > limit { body(PageNumber(truncatingIfNeeded: number), word) }
      } else if let child = Node(word: word), child.newest > limit {
        visit(child, level - 1, number, limit, body)
      }
    }
  }
}

extension PageIndex {
  /// A node of the tree, with 64 slots.
  ///
  /// A small node stores only the slots in use.
  ///
  ///     0          1          2          3
  ///     ┌──────────┬──────────┬──────────┬───────────┐
  ///     │ count    │ slots    │ newest   │ words …   │
  ///     └──────────┴──────────┴──────────┴───────────┘
  ///
  /// `count` is the number of references from parents and indexes. `slots` has a bit for each slot,
  /// and the bit is set if the slot has a word. The words are in slot order. A word is a frame
  /// number at level 0, and a reference to a child node at higher levels. `newest` is the highest
  /// frame ever set in the node or below it. The capacity is 4, 8, 16, 32 or 64 words.
  ///
  /// A node with a capacity of 64 words is *full*: every slot has a word, and 0 means no entry.
  /// References to a full node are odd, so that a lookup can find a word without reading `slots`.
  package struct Node: Equatable {
    /// The address of the node, plus 1 if it is full.
    private let reference: UnsafeMutableRawPointer

    static let slotShift = 6
    static let slotCount = 1 << slotShift
    private static let headerWordCount = 3
    private static let leastCapacity = 4

    @inline(__always)
    fileprivate init?(word: UInt64) {
      guard let reference = UnsafeMutableRawPointer(bitPattern: UInt(word)) else { return nil }
      self.reference = reference
    }

    @inline(__always)
    fileprivate var asWord: UInt64 { UInt64(UInt(bitPattern: reference)) }

    private var isFull: Bool {
      @inline(__always) get { UInt(bitPattern: reference) & 1 != 0 }
    }

    private var header: UnsafeMutablePointer<UInt64> {
      @inline(__always) get {
        (isFull ? reference - 1 : reference).assumingMemoryBound(to: UInt64.self)
      }
    }

    private var words: UnsafeMutablePointer<UInt64> {
      @inline(__always) get { header + Self.headerWordCount }
    }

    private var slots: UInt64 { header[1] }
    fileprivate var newest: FrameNumber { header[2] }

    /// Returns the index of a slot's word among the node's words or, if the slot has no word, the
    /// index at which to insert one.
    private func wordIndex(of slot: Int) -> Int {
      (slots & ((1 &<< UInt64(slot)) &- 1)).nonzeroBitCount
    }

    /// Returns the word of a slot, or 0 if the slot has no word.
    @inline(__always)
    fileprivate func word(_ slot: Int) -> UInt64 {
      if isFull {
        return (reference - 1).load(
          fromByteOffset: (slot &+ Self.headerWordCount) &* 8, as: UInt64.self)
      }
      let memory = reference.assumingMemoryBound(to: UInt64.self)
      let slots = memory[1]
      let bit: UInt64 = 1 &<< UInt64(slot)
      guard slots & bit != 0 else { return 0 }
      let lower = slots & (bit &- 1)
      // Count bits only if some lower slot has no word, because counting bits is slow on some
      // machines.
      let wordIndex = lower == bit &- 1 ? slot : lower.nonzeroBitCount
      return memory[Self.headerWordCount &+ wordIndex]
    }

    /// Replaces a slot's existing word.
    ///
    /// `newest` is the highest frame in the slot or below it.
    fileprivate func setWord(_ word: UInt64, _ slot: Int, newest: FrameNumber) {
      words[wordIndex(of: slot)] = word
      header[2] = max(header[2], newest)
    }

    /// Calls `body` for every slot with an entry, in order.
    fileprivate func forEachWord(_ body: (_ slot: Int, _ word: UInt64) -> Void) {
      var rest = slots
      var next = words
      while rest != 0 {
        if next.pointee != 0 { body(rest.trailingZeroBitCount, next.pointee) }
        rest &= rest &- 1
        next += 1
      }
    }

    // MARK: Creating and changing

    /// Returns an unshared node that has the entries of `node` and a word for `slot`.
    ///
    /// This method consumes the caller's reference to `node`.
    fileprivate static func owned(_ node: Node?, holding slot: Int, level: Int) -> Node {
      let bit: UInt64 = 1 << UInt64(slot)
      guard let node else { return Node(slots: bit, newest: 0) }
      let slots = node.slots | bit
      if node.isAlone {
        if slots == node.slots { return node }
        if capacity(for: slots) == capacity(for: node.slots) {
          node.open(slot)
          return node
        }
      }
      let copy = Node(slots: slots, newest: node.newest)
      if copy.slots == node.slots {
        copy.words.update(from: node.words, count: slots.nonzeroBitCount)
      } else {
        node.forEachWord { copy.words[copy.wordIndex(of: $0)] = $1 }
      }
      if node.isAlone {
        node.deallocate()
      } else {
        if level > 0 { copy.forEachWord { Node(word: $1)?.retain() } }
        node.release(level: level)
      }
      return copy
    }

    /// Creates a node with a word for each of the given slots.
    ///
    /// The words are 0, so the slots have no entries yet.
    private init(slots: UInt64, newest: FrameNumber) {
      let capacity = Self.capacity(for: slots)
      let isFull = capacity == Self.slotCount
      let wordCount = Self.headerWordCount + capacity
      let memory = UnsafeMutablePointer<UInt64>.allocate(capacity: wordCount)
      memory.initialize(repeating: 0, count: wordCount)
      memory[0] = 1
      memory[1] = isFull ? .max : slots
      memory[2] = newest
      reference = UnsafeMutableRawPointer(memory) + (isFull ? 1 : 0)
      PageIndex.liveNodeCount.wrappingAdd(1, ordering: .relaxed)
      PageIndex.liveByteCount.wrappingAdd(byteCount, ordering: .relaxed)
    }

    /// Inserts a word for a slot that has no word yet.
    ///
    /// The node must have spare capacity.
    private func open(_ slot: Int) {
      let wordIndex = wordIndex(of: slot)
      (words + wordIndex + 1).update(
        from: words + wordIndex, count: slots.nonzeroBitCount - wordIndex)
      words[wordIndex] = 0
      header[1] |= 1 << UInt64(slot)
    }

    private static func capacity(for slots: UInt64) -> Int {
      var capacity = leastCapacity
      while capacity < slots.nonzeroBitCount { capacity *= 2 }
      return capacity
    }

    private var byteCount: Int {
      (Self.headerWordCount + Self.capacity(for: slots)) * MemoryLayout<UInt64>.size
    }

    // MARK: Reference counting

    private var count: UnsafeMutablePointer<Atomic<UInt64>> {
      UnsafeMutableRawPointer(header).assumingMemoryBound(to: Atomic<UInt64>.self)
    }

    private var isAlone: Bool { count.pointee.load(ordering: .acquiring) == 1 }
    fileprivate func retain() { count.pointee.wrappingAdd(1, ordering: .relaxed) }

    // The recursion cannot overflow the stack: it is at most six levels deep, and its nodes are
    // not read from a file.
    fileprivate func release(level: Int) {
      guard
        count.pointee.wrappingSubtract(1, ordering: .acquiringAndReleasing).newValue == 0
      else { return }
      if level > 0 { forEachWord { Node(word: $1)?.release(level: level - 1) } }
      deallocate()
    }

    private func deallocate() {
      PageIndex.liveNodeCount.wrappingSubtract(1, ordering: .relaxed)
      PageIndex.liveByteCount.wrappingSubtract(byteCount, ordering: .relaxed)
      header.deallocate()
    }
  }
}
