import HeartwoodEngine

/// The `info` command, which shows the properties, sizes and keyspaces of a store.
enum OverviewCommand {
  static func run(_ invocation: Invocation, _ output: Output) throws {
    // Ignore errors here. If the path is invalid, opening the store below throws an error with a
    // better message.
    let isOpenElsewhere = (try? StoreFacts.isOpenElsewhere(invocation.path)) ?? false
    let overview = try StoreAccess.withStore(invocation.path, for: .reading) { store in
      try Overview(of: store, invocation.path, isOpenElsewhere: isOpenElsewhere)
    }
    if invocation.wantsJSON {
      try output.json(overview)
    } else {
      try output.line(overview.text)
    }
  }
}

/// The data that `info` shows, either as text or as a JSON document.
private struct Overview: Encodable {
  struct Keyspace: Encodable {
    let name: String
    let entryCount: Int
  }

  struct Named: Encodable {
    let name: String
    let generation: UInt64
  }

  struct Recovery: Encodable {
    let commitCount: Int
    let discardedFrameCount: Int
    let segmentFooterCount: Int
    let verifiedCommitCount: Int
    let durableWatermark: UInt64
  }

  struct Failure: Encodable {
    let kind: String
    let message: String
    let errno: Int?
  }

  struct Replica: Encodable {
    let lastError: String?
    let errorTime: String?

    init(_ status: ReplicaStatus) {
      lastError = status.lastError
      errorTime = status.errorTime.map(TimeText.text)
    }
  }

  let path: String
  let replica: Replica?
  let identity: String
  let lineage: String
  let formatVersion: Int
  let pageByteCount: Int
  let segmentByteCount: Int
  let pageCount: Int
  let freePageCount: Int
  let fileByteCount: Int
  let fileAllocatedByteCount: Int
  let logAllocatedByteCount: Int
  let newestGeneration: UInt64
  let newestTime: String?
  let checkpointedGeneration: UInt64
  let isOpenElsewhere: Bool
  let openBy: [HolderText]
  let recovery: Recovery
  let lastCheckpointError: Failure?
  let named: [Named]
  let keyspaces: [Keyspace]
  /// The age of the newest generation, for the text output.
  ///
  /// The JSON document contains the commit time instead.
  private let age: Duration?

  init(of store: Store, _ path: String, isOpenElsewhere: Bool) throws {
    let snapshot = try store.snapshot()
    let facts = try StoreFacts(of: store, snapshot)
    let statistics = store.statistics
    self.path = path
    self.isOpenElsewhere = isOpenElsewhere
    replica = try store.replicaStatus.map(Replica.init)
    openBy = try store.holders().filter { !$0.isThisProcess }.map(HolderText.init)
    identity = facts.identity
    lineage = facts.lineage
    formatVersion = StoreFacts.formatVersion
    pageByteCount = facts.pageByteCount
    segmentByteCount = facts.segmentByteCount
    pageCount = facts.pageCount
    freePageCount = facts.freePageCount
    fileByteCount = facts.fileByteCount
    fileAllocatedByteCount = facts.fileAllocatedByteCount
    logAllocatedByteCount = statistics.logByteCount
    newestGeneration = snapshot.generation.frame
    // Omit the commit time if the store is empty, because no commit exists.
    newestTime = newestGeneration == 0 ? nil : TimeText.text(facts.time)
    age = newestGeneration == 0 ? nil : HumanText.age(since: facts.time)
    checkpointedGeneration = statistics.checkpointedGeneration.frame
    let report = store.recovery
    recovery = Recovery(
      commitCount: report.commitCount, discardedFrameCount: report.discardedFrameCount,
      segmentFooterCount: report.segmentFooterCount,
      verifiedCommitCount: report.verifiedCommitCount,
      durableWatermark: report.durableWatermark.frame)
    lastCheckpointError = statistics.lastCheckpointError.map { error in
      Failure(kind: "\(error.kind)", message: error.message, errno: error.errno.map(Int.init))
    }
    named = try store.namedGenerations().sorted { $0.key < $1.key }
      .map { Named(name: $0.key, generation: $0.value.frame) }
    keyspaces = try snapshot.keyspaceNames.map { name in
      Keyspace(name: name, entryCount: try snapshot.keyspace(name)?.count() ?? 0)
    }
  }

  /// The properties in the JSON document: all except the age.
  private enum CodingKeys: CodingKey {
    case path, replica, identity, lineage, formatVersion, pageByteCount, segmentByteCount, pageCount
    case freePageCount, fileByteCount, fileAllocatedByteCount, logAllocatedByteCount,
      newestGeneration
    case newestTime, checkpointedGeneration, isOpenElsewhere, openBy, recovery, lastCheckpointError
    case named, keyspaces
  }

  // MARK: Text output

  var text: String {
    var rows = TextTable(untitled: [.left, .left])
    rows.append(["store", QuotedText.escaped(path)])
    if let replica {
      let error = replica.lastError.map { "; error since \(replica.errorTime ?? "-"): \($0)" }
      rows.append(["replica", "follows a backup\(error ?? "")"])
    }
    rows.append(["identity", identity])
    rows.append(["format", "version \(formatVersion)"])
    rows.append(["newest", newestText])
    rows.append(["lineage", lineage])
    rows.append([
      "pages",
      "\(HumanText.count(pageCount)) of \(HumanText.count(pageByteCount, "byte")), "
        + "\(HumanText.count(freePageCount)) of them free",
    ])
    rows.append([
      "page file",
      "\(HumanText.size(fileByteCount)), \(HumanText.size(fileAllocatedByteCount)) on disk, "
        + "contains generation \(checkpointedGeneration)",
    ])
    rows.append(["log", "\(HumanText.size(logAllocatedByteCount)) on disk"])
    rows.append(["recovery", recoveryText])
    if let failure = lastCheckpointError {
      let code = failure.errno.map { ", system error \($0)" } ?? ""
      rows.append(["checkpoint", "the last checkpoint failed: \(failure.kind)\(code)"])
    }
    for (position, text) in openTexts.enumerated() {
      rows.append([position == 0 ? "open by" : "", text])
    }
    rows.append(["named", named.isEmpty ? "no generations" : namedText])
    return [rows.text(), "", keyspacesText].joined(separator: "\n")
  }

  /// A line of text for each process that has the store open.
  private var openTexts: [String] {
    guard openBy.isEmpty else { return openBy.map(\.longText) }
    // Use the store's locks, which show whether another process has the store open even if no
    // process is listed.
    return [isOpenElsewhere ? "another process" : "no other process"]
  }

  private var newestText: String {
    guard let age, let newestTime else { return "generation 0, nothing has been written yet" }
    return "generation \(newestGeneration), \(HumanText.age(age)) old (\(newestTime))"
  }

  private var namedText: String {
    named.map { "\(QuotedText.quoted($0.name)) (generation \($0.generation))" }
      .joined(separator: ", ")
  }

  private var recoveryText: String {
    let found = "\(HumanText.count(recovery.commitCount, "commit")) found in the log"
    guard recovery.discardedFrameCount > 0 else { return found + ", no unfinished commits" }
    return found + ", \(HumanText.count(recovery.discardedFrameCount, "frame")) of unfinished "
      + "commits ignored"
  }

  private var keyspacesText: String {
    guard !keyspaces.isEmpty else { return "no keyspaces" }
    var rows = TextTable(["keyspace": .left, "entries": .right])
    for keyspace in keyspaces {
      rows.append([QuotedText.escaped(keyspace.name), HumanText.count(keyspace.entryCount)])
    }
    return rows.text()
  }
}
