/// The type of a volume, as the operating system reports it.
package enum VolumeType: Hashable, Sendable {
  /// The magic number of the file system, on Linux.
  case number(UInt32)
  /// On Darwin, the file system's name, and whether the operating system considers the volume
  /// local.
  case name(String, isLocal: Bool)
  /// A file system in the memory of this process, or a simulated one in a test.
  case memory

  /// The name of an unsupported file system, or `nil` if the file system is supported or unknown.
  ///
  /// Unsupported file systems are shared between machines or implemented by a user-space program.
  /// On such file systems, locks may be invisible to other machines or be lost when a connection
  /// ends. Mappings may not show writes by other machines, and a sync may not make writes durable.
  package var unsupportedName: String? {
    switch self {
    case .number(let number):
      return Self.unsupportedNumbers.first { $0.number == number }?.name
    case .name(let name, let isLocal):
      // Some FUSE file systems claim to be local, so check the name too.
      return isLocal && !name.lowercased().contains("fuse") ? nil : name
    case .memory:
      return nil
    }
  }

  /// Throws `unsupportedFileSystem` if the volume cannot hold a store.
  package func requireSupported(_ path: String) throws(StorageError) {
    guard let name = unsupportedName else { return }
    throw StorageError(
      .unsupportedFileSystem,
      "The directory is on a network or user-space file system (\(name)), where locks, memory "
        + "mappings and syncs are unreliable. Keep the store on a local disk.", file: path)
  }

  /// The magic numbers of unsupported file systems, as reported by `statfs`.
  package static let unsupportedNumbers: [(number: UInt32, name: String)] = [
    (0x6969, "NFS"), (0x517B, "SMB"), (0xFF53_4D42, "CIFS"), (0xFE53_4D42, "SMB2"),
    (0x564C, "NCP"), (0x0102_1997, "9p"), (0x6573_5546, "FUSE"), (0x00C3_6400, "Ceph"),
    (0x5346_414F, "AFS"), (0x6B41_4653, "kAFS"), (0x7375_7245, "Coda"), (0x0116_1970, "GFS2"),
    (0x7461_636F, "OCFS2"), (0x0BD0_0BD0, "Lustre"), (0x4750_4653, "GPFS"),
    (0x1983_0326, "BeeGFS"), (0xAAD7_AAEA, "PanFS"), (0x2003_0528, "OrangeFS"),
    (0x0131_11A8, "IBRIX"), (0xBEEF_DEAD, "StorNext"), (0x6163_6673, "ACFS"),
    (0x786F_4256, "VirtualBox shared folders"), (0xBACB_ACBC, "VMware shared folders"),
    (0x7C7C_6673, "Parallels shared folders"),
  ]
}
