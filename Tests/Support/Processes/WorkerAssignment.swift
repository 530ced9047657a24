import Foundation
package import HeartwoodEngine

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// What a process of its own is to do on a store: the program `heartwood-worker`.
///
/// It works until the file `stop` appears in its folder, and complains on standard error, with an
/// exit code of 1, about anything that the store should not have done.
package struct WorkerAssignment: Codable, Sendable {
  package enum Role: String, Codable, Sendable {
    case writer, reader, keeper, committer, holder, watcher, displaced
  }

  package var role: Role
  /// Which one of its role; its ledger goes by both.
  package var index: Int
  /// Holds the store, the ledgers, and what one process hands to another.
  package var directory: String
  package var seed: UInt64
  package var isMapped = true
  package var isDurable = true
  package var isReadOnly = false
  /// What it calls itself.
  package var name: String?
  /// Whether a holder stays within a transaction.
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
  /// Where readers leave generations for each other.
  package func handover(_ index: Int) -> String { directory + "/handover-\(index)" }
  package var durability: StoreOptions.Durability { isDurable ? .full : .normal }

  /// Small files, so that passes and new segments come often.
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
    // What a worker says on its standard error fails the campaign.
    options.checkpointDidFail = { _ in }
    return options
  }

  /// Whether the process is to go on.
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
