/// The workloads, in the order of measurement.
///
/// Reads and commits use the same store, as left by the earlier workloads. Therefore, workloads
/// that change rows come after workloads that only read. All other workloads use separate stores.
enum Workload: String, CaseIterable {
  case loadSorted = "load-sorted"
  case loadRandom = "load-random"
  case checkpoint
  case openLog = "open-log"
  case readInt = "read-int"
  case readIntTwice = "read-int-2"
  case getMany = "get-many"
  case readString = "read-string"
  case scan
  case beginGetEnd = "begin-get-end"
  case readWhileWriting = "read-while-writing"
  case readWhileWritingTwice = "read-while-writing-2"
  case commitNormal = "commit-normal"
  case commitFull = "commit-full"
  case commitFullEight = "commit-full-8"
  case overwrite = "overwrite-pinned"
  case scaling
  case graphInsert = "graph-insert"
  case graphBatchInsert = "graph-batch-insert"
  case graphRead = "graph-read"
  case graphFind = "graph-find"
  case graphLookup = "graph-lookup"
  case graphNewest = "graph-newest"
  case graphCount = "graph-count"
  case graphContains = "graph-contains"
  case graphSave = "graph-save"
  case graphDelete = "graph-delete"
  case ordersInsert = "graph-orders-insert"
  case ordersRead = "graph-orders-read"
  case ordersRange = "graph-orders-range"
  case ordersMembers = "graph-orders-members"
  case ordersUpdate = "graph-orders-update"
  case textBuild = "text-build"
  case textWord = "text-word"
  case textBoth = "text-and"
  case textPhrase = "text-phrase"
  case textPrefix = "text-prefix"
  case textUpdate = "text-update"
  case liveResults = "live-results"
  case feed
  case pinnedImport = "pinned-import"
  case redb = "redb"
  case ycsbA = "ycsb-a"
  case ycsbB = "ycsb-b"
  case ycsbC = "ycsb-c"
  case ycsbF = "ycsb-f"
  // Run E before D, because the number of entries that D inserts depends on the speed of the
  // engine.
  case ycsbE = "ycsb-e"
  case ycsbD = "ycsb-d"
  case uniformReads = "uniform-reads"
  case readWhileHeld = "readwhilewriting"

  /// The number of rows in the smallest store of the ``scaling`` workload.
  static let smallestScale = 10_000

  /// The random seed of the workload's first writing thread.
  ///
  /// Each further thread adds its own number to the seed.
  ///
  /// Each workload needs its own seed. Otherwise, it would repeat earlier writes, and SQLite does
  /// not write rows left unchanged by an `UPDATE`.
  var seed: UInt64 { UInt64(Self.allCases.firstIndex(of: self) ?? 0) << 16 + 100 }

  /// The description of the workload in the help text.
  var summary: String {
    switch self {
    case .loadSorted: "bulk load in key order, in one transaction (.normal)"
    case .loadRandom: "puts in random order, 10,000 rows per transaction (.normal)"
    case .checkpoint: "checkpoint of the loaded pages, from the log to the page file"
    case .openLog: "opening a crashed store with a long log of 1-page or 100-page commits"
    case .readInt: "random point reads by integer key through a snapshot"
    case .readIntTwice: "read-int with two threads"
    case .getMany: "random point reads by integer key, 64 at a time"
    case .readString: "random point reads by 16-byte string key"
    case .scan: "full scans that read every byte of every row"
    case .overwrite: "disk space of 10,000 overwrites of 32 KiB, with and without a pinned reader"
    case .scaling: "read-int in stores of 10,000 rows, 100,000 rows and so on"
    case .beginGetEnd: "point reads that each take their own snapshot"
    case .readWhileWriting: "read-int while a thread commits and checkpoints run"
    case .readWhileWritingTwice: "read-while-writing with two reading threads"
    case .commitNormal: "one-row commits, .normal"
    case .commitFull: "one-row commits, .full"
    case .commitFullEight: "one-row commits, .full, eight threads"
    case .graphInsert:
      "50,000 objects of ten integers, created in a context and saved (from GRDB's benchmark)"
    case .graphBatchInsert: "a batch insertion of 200,000 quakes, with a unique code and an index"
    case .graphRead: "fetches of 200,000 objects of ten integers, with every value read (GRDB)"
    case .graphFind: "fetches of single quakes by their unique code, with a predicate"
    case .graphLookup: "graph-find without a predicate: existingObject(where:equals:)"
    case .ordersInsert:
      "15,889 orders of 14 columns (Northwind's), with customers, created and saved"
    case .ordersRead: "fetches of all orders, with every value read (Lighter's benchmark)"
    case .ordersRange: "the 200 orders with the highest freight in a quarter of the time span"
    case .ordersMembers: "sums over the orders of each customer, through the relationship"
    case .ordersUpdate: "changes to 10,000 orders in one durable save"
    case .textBuild: "a batch insertion of 200,000 documents with a full-text index"
    case .textWord: "the ten most relevant documents with a word"
    case .textBoth: "the ten most relevant documents with two words"
    case .textPhrase: "the ten most relevant documents with a phrase of two words"
    case .textPrefix: "the ten most relevant documents with a word that begins with three letters"
    case .textUpdate: "durable saves of one changed document each"
    case .liveResults: "updating a list after 100 changed rows, and a thousand lists after 10,000"
    case .feed: "reading changes from a feed as JSON and applying them to another store"
    case .pinnedImport: "lookups in a pinned context while another process imports --rows rows"
    case .redb: "redb's published table: 24-byte keys, 150-byte values, in --entries entries"
    case .ycsbA: "YCSB A: half reads, half updates of 1,000-byte records"
    case .ycsbB: "YCSB B: 95 % reads, 5 % updates"
    case .ycsbC: "YCSB C: reads only"
    case .ycsbD: "YCSB D: 95 % reads of new records, 5 % inserts"
    case .ycsbE: "YCSB E: 95 % scans of up to 100 records, 5 % inserts"
    case .ycsbF: "YCSB F: half reads, half reads that are each followed by an update"
    case .uniformReads: "random point reads of the YCSB records, each equally likely"
    case .readWhileHeld: "reads while a thread commits and a snapshot is held; disk space over time"
    case .graphCount: "counts of the quakes in a time range, through the index of times"
    case .graphContains: "counts of the quakes whose place contains a string, without an index"
    case .graphSave: "durable saves of one change to one quake each"
    case .graphDelete: "deletions of 5,000 quakes in one save"
    case .graphNewest: "fetches of the newest 100 quakes of magnitude 4.5 and above"
    }
  }
}
