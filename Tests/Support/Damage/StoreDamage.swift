package import HeartwoodEngine

/// The input of the fuzzer: damage done to a sample store before the store is opened.
package struct StoreDamage: Hashable, Sendable {
  /// The index of the sample store in ``SampleStore/all``, modulo the number of samples.
  package var sample: UInt8
  /// A Boolean value that indicates whether the hashes of the changed bytes are recomputed.
  package var repairs: Bool
  /// A Boolean value that indicates whether the store is opened without restarting the machine.
  ///
  /// If the value is `true`, the store is opened as if only its process had died. Otherwise, the
  /// store is opened as if the machine had been restarted.
  package var isSameBoot: Bool
  package var edits: [StoreEdit]

  /// The maximum number of edits; more edits would only slow down the fuzzer.
  package static let maxEditCount = 16
  package static let maxByteCount = 2 + maxEditCount * StoreEdit.byteCount

  package init(sample: Int, repairs: Bool, isSameBoot: Bool = false, edits: [StoreEdit]) {
    self.sample = UInt8(truncatingIfNeeded: sample)
    self.repairs = repairs
    self.isSameBoot = isSameBoot
    self.edits = edits
  }

  /// Decodes damage from arbitrary bytes.
  ///
  /// Missing bytes are treated as zeros, and an incomplete edit at the end is ignored.
  package init(_ bytes: Bytes) {
    sample = bytes.count > 0 ? bytes.load8(0) : 0
    let flags = bytes.count > 1 ? bytes.load8(1) : 0
    repairs = flags & 1 != 0
    isSameBoot = flags & 2 != 0
    let count = min(max(bytes.count - 2, 0) / StoreEdit.byteCount, Self.maxEditCount)
    edits = (0..<count).map { index in
      StoreEdit(bytes.slice(2 + index * StoreEdit.byteCount, StoreEdit.byteCount))
    }
  }

  package var encoded: [UInt8] {
    let block = ByteBlock(count: 2 + edits.count * StoreEdit.byteCount)
    defer { block.keep() }
    block.bytes.store8(sample, 0)
    block.bytes.store8((repairs ? 1 : 0) | (isSameBoot ? 2 : 0), 1)
    for (index, edit) in edits.enumerated() {
      edit.encode(to: block.bytes.slice(2 + index * StoreEdit.byteCount, StoreEdit.byteCount))
    }
    return block.bytes.bytes.copied()
  }

  /// The sample store that is damaged.
  package var store: SampleStore { SampleStore.all[Int(sample) % SampleStore.all.count] }

  /// Damages the store, uses it as a program would, and reports misbehaviour of the engine.
  ///
  /// Throwing a `StorageError` is not misbehaviour.
  ///
  /// - Parameter writes: Whether the store is also written and maintained, which takes most of the
  ///   time.
  /// - Returns: Whether a `StorageError` was thrown, and one sentence for each misbehaviour.
  /// - Throws: Any other error, which the engine must never throw.
  package func run(writes: Bool = true) throws -> (metError: Bool, findings: [String]) {
    let sample = store
    var image = sample.image
    for edit in edits { image.apply(edit) }
    if repairs { image.repairHashes() }
    let disk = isSameBoot ? sample.disk.killed() : sample.disk.crashed(.everything)
    // Limit the file size, so that corrupted sizes cannot cause huge allocations.
    disk.fileByteCountLimit = 64 << 20
    try image.install(on: disk, at: SampleStore.path)
    var use = StoreUse(of: disk, at: SampleStore.path, options: sample.options)
    try use.run(writes: writes)
    var findings = use.findings
    if !repairs, !use.contents.isSubset(of: sample.contents) {
      findings.append("The store shows contents that no commit wrote.")
    }
    return (use.metError, findings)
  }
}

extension StoreDamage: CustomStringConvertible {
  package var description: String {
    let names = store.image.names
    let lines = edits.map { "\($0) (\(names[Int($0.file) % names.count]))" }
    return "sample \(Int(sample) % SampleStore.all.count)" + (repairs ? ", hashes repaired" : "")
      + (isSameBoot ? ", same boot" : "") + ": " + lines.joined(separator: "; ")
  }
}
