import HeartwoodEngine

// This extension contains the disk operations that an open file performs.
extension SimulatedDisk {
  func read(_ file: SimulatedFile, _ target: MutableBytes, at offset: UInt64)
    throws(StorageError) -> Int
  {
    try lock.withLock { () throws(StorageError) in
      try requirePower()
      reads += 1
      if reads == faultPlan.failingRead {
        throw .unchanged(.io, "Injected failure of read call \(reads).", file: file.path, errno: 5)
      }
      return content.files[file.number]?.newest.read(into: target, at: Int(offset)) ?? 0
    }
  }

  func write(_ file: SimulatedFile, _ parts: [Bytes], at offset: UInt64) throws(StorageError) {
    let source = parts.flatMap { $0.copied() }
    onWrite?(file.path, offset, source.count)
    try lock.withLock { () throws(StorageError) in
      try requirePower()
      try requireSpace(offset, UInt64(source.count), file)
      let leavesPart = faultPlan.leavesPart
      try source.withBytes { (bytes) throws(StorageError) in
        try change(
          .write, file.path, "\(offset)+\(bytes.count) \(OperationLog.hash(bytes))",
          partly: { content, generator, outcome in
            guard leavesPart, bytes.count > 0 else { return }
            if outcome == .powerOff {
              content.writeInPart(bytes, to: file.number, at: Int(offset)) {
                generator.isTrue(in256: 128)
              }
            } else {
              let prefix = bytes.slice(0, generator.below(bytes.count))
              content.write(prefix, to: file.number, at: Int(offset))
            }
          },
          { $0.write(bytes, to: file.number, at: Int(offset)) })
      }
    }
  }

  private func requireSpace(
    _ offset: UInt64, _ byteCount: UInt64, _ file: SimulatedFile
  ) throws(StorageError) {
    let limit = UInt64(fileByteCountLimit)
    if offset <= limit, byteCount <= limit - offset {
      let present = content.files[file.number]?.newest.count ?? 0
      let growth = Int(offset + byteCount) - present
      guard growth > 0, byteCountLimit < Int.max, content.namedByteCount + growth > byteCountLimit
      else { return }
    }
    throw StorageError(
      .diskFull, "The simulated disk is full.", file: file.path, errno: 28)
  }

  func byteCount(_ file: SimulatedFile) throws(StorageError) -> UInt64 {
    try lock.withLock { () throws(StorageError) in
      try requirePower()
      return UInt64(content.files[file.number]?.newest.count ?? 0)
    }
  }

  func setByteCount(_ file: SimulatedFile, _ count: UInt64) throws(StorageError) {
    try lock.withLock { () throws(StorageError) in
      try requirePower()
      try requireSpace(count, 0, file)
      try change(.setByteCount, file.path, "\(count)") {
        $0.setByteCount(Int(count), of: file.number)
      }
    }
  }

  /// Writes zeros to a range.
  ///
  /// After a power cut, each sector has either its old bytes or zeros.
  func punch(_ file: SimulatedFile, _ range: Range<UInt64>) throws(StorageError) -> Bool {
    onPunch?(file.path, range)
    return try lock.withLock { () throws(StorageError) in
      try requirePower()
      guard canPunch else { return false }
      let zeros = [UInt8](repeating: 0, count: range.count)
      try zeros.withBytes { (bytes) throws(StorageError) in
        try change(
          .punch, file.path, "\(range)",
          partly: { content, generator, outcome in
            guard outcome == .powerOff else { return }
            content.writeInPart(bytes, to: file.number, at: Int(range.lowerBound)) {
              generator.isTrue(in256: 128)
            }
          },
          { $0.write(bytes, to: file.number, at: Int(range.lowerBound)) })
      }
      return true
    }
  }

  func allocatedByteCount(_ file: SimulatedFile) throws(StorageError) -> UInt64 {
    try lock.withLock { () throws(StorageError) in
      try requirePower()
      return UInt64(content.files[file.number]?.newest.allocatedByteCount ?? 0)
    }
  }

  func sync(_ file: SimulatedFile) throws(StorageError) {
    try lock.withLock { () throws(StorageError) in
      try requirePower()
      let drops = faultPlan.dropsUnsynced
      let lies = liesAboutSync?(file.path) ?? false
      try change(
        .sync, file.path,
        partly: { content, _, outcome in
          if drops, outcome != .powerOff { content.dropUnsynced(file.number) }
        },
        { if !lies { $0.sync(file.number) } })
    }
  }

  func mapShared(_ file: SimulatedFile, _ byteCount: Int) throws(StorageError) -> Mapping {
    try lock.withLock { () throws(StorageError) in
      try requirePower()
      guard let memory = content.share(file.number, byteCount) else {
        throw StorageError(
          .io, "Cannot map the file, because it is shorter than the mapping.", file: file.path)
      }
      return Mapping(memory.bytes.slice(0, byteCount)) { _ in withExtendedLifetime(memory) {} }
    }
  }

  func lock(_ file: SimulatedFile, _ kind: LockKind, _ range: Range<UInt64>)
    throws(StorageError) -> Bool
  {
    try lock.withLock { () throws(StorageError) in
      try requirePower()
      try requireLocks(file)
      return locks[file.number, default: RangeLocks()]
        .set(kind, range, owner: ObjectIdentifier(file))
    }
  }

  func lockedByOthers(_ file: SimulatedFile, in range: Range<UInt64>)
    throws(StorageError) -> Range<UInt64>?
  {
    try lock.withLock { () throws(StorageError) in
      try requirePower()
      try requireLocks(file)
      guard lockFault != .unseen else { return nil }
      return locks[file.number]?.lockedByOthers(than: ObjectIdentifier(file), in: range)
    }
  }

  private func requireLocks(_ file: SimulatedFile) throws(StorageError) {
    guard case .failure(let kind) = lockFault else { return }
    throw StorageError(kind, "Injected failure of a lock call.", file: file.path)
  }

  /// Closes one descriptor of a file and releases the descriptor's locks.
  ///
  /// A file that no longer has a name is kept only while it is open.
  func close(number: Int, owner: ObjectIdentifier) {
    lock.withLock {
      if lockFault == .lostWhenClosed { locks[number] = nil }
      locks[number]?.releaseAll(of: owner)
      let count = openCounts[number, default: 1] - 1
      openCounts[number] = count == 0 ? nil : count
    }
  }
}
