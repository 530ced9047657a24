import Foundation
package import HeartwoodEngine

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// The assignment of a worker process, the program `heartwood-worker`.
///
/// It works until the file `stop` appears in its directory. It reports on standard error, with exit
/// code 1, anything that the store should not have done.
package struct WorkerAssignment: Codable, Sendable {
  package enum Role: String, Codable, Sendable {
    case writer, reader, keeper, committer, holder, watcher, displaced
  }

  package var role: Role
  /// The index of the process within its role; its ledger is named after both.
  package var index: Int
  /// The directory with the store, the ledgers, and the files that processes hand to each other.
  package var directory: String
  package var seed: UInt64
  package var isMapped = true
  package var isDurable = true
  package var isReadOnly = false
  /// Its name in the list of holders.
  package var name: String?
  /// Whether a holder stays inside a transaction.
  package var staysWriter = false
  package var busyMilliseconds = 20_000

  package init(_ role: Role, _ index: Int, in directory: String, seed: UInt64) {
    self.role = role
    self.index = index
    self.directory = directory
    self.seed = seed
  }

  package var store: String { directory + "/store" }
  package var ledger: String { directory + "/ledger-\(role)-\(index)" }
  /// The files in which readers offer generations to each other.
  package func handover(_ index: Int) -> String { directory + "/handover-\(index)" }
  package var durability: StoreOptions.Durability { isDurable ? .full : .normal }

  /// Small files, so that maintenance runs and new segments are frequent.
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
    // Any output of a worker on standard error fails the campaign.
    options.checkpointDidFail = { _ in }
    return options
  }

  /// Whether the process continues.
  package var goesOn: Bool { access(directory + "/stop", F_OK) != 0 }

  package static func runFromCommandLine() {
    do {
      let counters = CommandLine.arguments
      guard counters.count == 2 else { throw SharedContent.Violation("one argument, as JSON") }
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
