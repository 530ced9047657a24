import Foundation
package import HeartwoodEngine

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// The assignment of a worker process, which runs the program `heartwood-worker`.
///
/// The worker runs until a file named `stop` appears in its directory. If the store misbehaves, the
/// worker reports an error on standard error and exits with code 1.
package struct WorkerAssignment: Codable, Sendable {
  package enum Role: String, Codable, Sendable {
    case writer, reader, keeper, backup, follower, committer, holder, watcher, displaced
  }

  package var role: Role
  /// The index of the process among the processes with the same role, which is also part of the
  /// ledger's name.
  package var index: Int
  /// The directory that contains the store, the ledgers, and the files through which readers offer
  /// generations.
  package var directory: String
  package var seed: UInt64
  package var isMapped = true
  package var isDurable = true
  package var isReadOnly = false
  /// The name of the process in the list of holders.
  package var name: String?
  /// A Boolean value that indicates whether a process with the role `holder` also holds the writer
  /// lock.
  package var staysWriter = false
  package var busyMilliseconds = 20_000

  package init(_ role: Role, _ index: Int, in directory: String, seed: UInt64) {
    self.role = role
    self.index = index
    self.directory = directory
    self.seed = seed
  }

  package var store: String { directory + "/store" }
  package var backup: String { directory + "/backup" }
  package var replica: String { directory + "/replica" }
  package var ledger: String { directory + "/ledger-\(role)-\(index)" }
  /// Returns the path of the file through which the reader with the given index offers generations.
  package func handover(_ index: Int) -> String { directory + "/handover-\(index)" }
  package var durability: StoreOptions.Durability { isDurable ? .full : .normal }

  /// The options of the store, with small files so that maintenance and new segments are frequent.
  package var options: StoreOptions {
    var options = StoreOptions()
    options.access = isMapped ? .mapped : .buffered
    options.segmentByteCount = 256 << 10
    options.checkpointLogByteCount = 1 << 20
    options.reclaimLogByteCount = 256 << 10
    options.transactionMemoryByteCount = 64 << 10
    options.cacheByteCount = 1 << 20
    options.busyTimeout = .milliseconds(busyMilliseconds)
    options.isReadOnly = isReadOnly
    options.name = name
    // Ignore failed checkpoints, because any output on standard error would fail the campaign.
    options.checkpointDidFail = { _ in }
    return options
  }

  /// Opens the store, and waits up to a minute while another process is opening it.
  ///
  /// A process that is suspended, or that gets little processor time, may take longer to open the
  /// store than `busyMilliseconds`.
  package func openStore() throws -> Store {
    let end = ContinuousClock.now + .seconds(60)
    while true {
      do {
        return try Store(at: store, options: options)
      } catch let error as StorageError where error.kind == .busy && ContinuousClock.now < end {
        usleep(1000)
      }
    }
  }

  package var goesOn: Bool { access(directory + "/stop", F_OK) != 0 }

  package static func runFromCommandLine() {
    do {
      let counters = CommandLine.arguments
      guard counters.count == 2 else { throw SharedContent.Violation("expected a JSON argument") }
      let own = try JSONDecoder().decode(Self.self, from: Data(counters[1].utf8))
      switch own.role {
      case .writer:
        var role = WriterRole(own)
        try role.run()
      case .reader:
        var role = ReaderRole(own)
        try role.run()
      case .keeper:
        var role = KeeperRole(own)
        try role.run()
      case .backup:
        var role = BackupRole(own)
        try role.run()
      case .follower:
        var role = FollowerRole(own)
        try role.run()
      case .committer:
        let role = CommitterRole(own)
        try role.run()
      case .holder:
        let role = HolderRole(own)
        try role.run()
      case .displaced:
        let role = DisplacedRole(own)
        try role.run()
      case .watcher:
        let role = WatcherRole(own)
        try role.run()
      }
    } catch {
      let kind = (error as? StorageError).map { "\($0.kind): " } ?? ""
      let complaint = "\(CommandLine.arguments.last ?? ""): \(kind)\(error)\n"
      FileHandle.standardError.write(Data(complaint.utf8))
      exit(1)
    }
  }
}
