extension KeyspaceReads {
  /// Looks up `keys`, and calls `body` for each key, in the order of `keys`.
  ///
  /// Each encoded key, including its padding, has at most `byteCount` bytes. `keyspace` is a
  /// transaction's keyspace, which `body` may change but not remove, or `nil` for a snapshot.
  @inline(__always)
  private func getMany<K>(
    _ keys: [K], byteCount: Int, in keyspace: KeyspaceScope?,
    _ body: (_ index: Int, _ value: RawSpan?) throws -> Void,
    encode: (K, MutableBytes) throws(StorageError) -> Bytes
  ) throws {
    var batch = TreeBatch(view: view, root: root)
    var first = 0
    var limit = TreeBatch.capacity
    while first < keys.count {
      let end = min(first + limit, keys.count)
      while first + batch.count < end, let room = batch.room(byteCount: byteCount) {
        batch.append(try encode(keys[first + batch.count], room))
      }
      let changeCount = view.changeCount
      try batch.find()
      var passed = 0
      while passed < batch.count, view.changeCount == changeCount {
        try pass(batch.found(passed), first + passed, body)
        passed += 1
      }
      if view.changeCount == changeCount {
        limit = min(limit * 2, TreeBatch.capacity)
      } else {
        // `body` has made a change, which may have moved values that were already found. Look up
        // the remaining keys again, starting with a batch of one key.
        keyspace?.requireUsable()
        limit = 1
      }
      first += passed
      batch.clear()
    }
  }

  @inline(__always)
  private func pass(
    _ found: FoundValue?, _ index: Int, _ body: (_ index: Int, _ value: RawSpan?) throws -> Void
  ) throws {
    guard let found else { return try body(index, nil) }
    if found.isOverflow { return try passLarge(found.value, index, body) }
    try body(index, found.value.buffer.bytes)
  }

  @inline(never)
  private func passLarge(
    _ cell: Bytes, _ index: Int, _ body: (_ index: Int, _ value: RawSpan?) throws -> Void
  ) throws {
    try large(cell).use { try body(index, $0) }
  }

  func getMany(
    _ keys: [Int64], in keyspace: KeyspaceScope?,
    _ body: (_ index: Int, _ value: RawSpan?) throws -> Void
  ) throws {
    try getMany(keys, byteCount: 24, in: keyspace, body) { key, room in
      storeSearchKey(key, to: room)
    }
  }

  func getMany(
    _ keys: [Int], in keyspace: KeyspaceScope?,
    _ body: (_ index: Int, _ value: RawSpan?) throws -> Void
  ) throws {
    try getMany(keys, byteCount: 24, in: keyspace, body) { key, room in
      storeSearchKey(Int64(key), to: room)
    }
  }

  func getMany(
    _ keys: [String], in keyspace: KeyspaceScope?,
    _ body: (_ index: Int, _ value: RawSpan?) throws -> Void
  ) throws {
    try getMany(keys, byteCount: Limits.maxKeyByteCount + 8, in: keyspace, body) {
      key, room throws(StorageError) in
      try storeSearchKey(key, to: room)
    }
  }
}
