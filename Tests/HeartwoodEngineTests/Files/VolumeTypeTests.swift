import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Tests which volumes can hold a store, by their reported types and by probes of their locks.
@Suite("A volume")
struct VolumeTypeTests {
  /// The unsupported types, listed independently of the engine's own list.
  private static let unsupported: [(VolumeType, String)] = [
    (.number(0x6969), "NFS"), (.number(0x517B), "SMB"), (.number(0xFF53_4D42), "CIFS"),
    (.number(0xFE53_4D42), "SMB2"), (.number(0x564C), "NCP"), (.number(0x0102_1997), "9p"),
    (.number(0x6573_5546), "FUSE"), (.number(0x00C3_6400), "Ceph"), (.number(0x5346_414F), "AFS"),
    (.number(0x6B41_4653), "kAFS"), (.number(0x7375_7245), "Coda"), (.number(0x0116_1970), "GFS2"),
    (.number(0x7461_636F), "OCFS2"), (.number(0x0BD0_0BD0), "Lustre"),
    (.number(0x4750_4653), "GPFS"), (.number(0x1983_0326), "BeeGFS"),
    (.number(0xAAD7_AAEA), "PanFS"), (.number(0x2003_0528), "OrangeFS"),
    (.number(0x0131_11A8), "IBRIX"), (.number(0xBEEF_DEAD), "StorNext"),
    (.number(0x6163_6673), "ACFS"), (.number(0x786F_4256), "VirtualBox shared folders"),
    (.number(0xBACB_ACBC), "VMware shared folders"),
    (.number(0x7C7C_6673), "Parallels shared folders"),
    (.name("nfs", isLocal: false), "nfs"), (.name("smbfs", isLocal: false), "smbfs"),
    (.name("webdav", isLocal: false), "webdav"), (.name("afpfs", isLocal: false), "afpfs"),
    (.name("macfuse", isLocal: true), "macfuse"), (.name("osxfuse", isLocal: true), "osxfuse"),
    (.name("fusefs", isLocal: true), "fusefs"),
  ]

  /// The supported types: ext4, XFS, Btrfs, tmpfs, overlayfs, F2FS, ZFS, ramfs, bcachefs, eCryptfs,
  /// FAT, exFAT, an unknown type, and the types of Darwin.
  private static let supported: [VolumeType] =
    [
      0xEF53, 0x5846_5342, 0x9123_683E, 0x0102_1994, 0x794C_7630, 0xF2F5_2010, 0x2FC1_2FC1,
      0x8584_58F6, 0xCA45_1A4E, 0xF15F, 0x4D44, 0x2011_BAB0, 0,
    ].map { .number($0) } + [
      .name("apfs", isLocal: true), .name("hfs", isLocal: true), .name("exfat", isLocal: true),
      .memory,
    ]

  @Test(.evidence("E1"), arguments: unsupported)
  func `on a network or in user space is rejected by name`(type: VolumeType, name: String) throws {
    #expect(type.unsupportedName == name)
    let error = #expect(throws: StorageError.self) { try type.requireSupported("/store") }
    #expect(error?.kind == .unsupportedFileSystem)
    #expect(error?.message.contains(name) == true && error?.message.hasSuffix(".") == true)
    #expect(error?.file == "/store")
  }

  @Test func `is checked against each rejected number`() {
    let numbers = Self.unsupported.compactMap { entry in
      if case .number(let number) = entry.0 { number } else { nil as UInt32? }
    }
    #expect(Set(numbers) == Set(VolumeType.unsupportedNumbers.map(\.number)))
    #expect(numbers.count == VolumeType.unsupportedNumbers.count)
  }

  @Test(.evidence("E1"), arguments: supported)
  func `on a disk or in memory is accepted`(type: VolumeType) throws {
    #expect(type.unsupportedName == nil)
    try type.requireSupported("/store")
  }

  @Test func `is known for an existing directory`() throws {
    let scratch = try ScratchDirectory()
    let system = PosixFileSystem()
    let type = try #require(try system.volumeType(of: scratch.path))
    #expect(type != .memory && type != .number(0))
    #expect(try system.volumeType(of: scratch.path(of: "none")) == nil)
    _ = try system.open(scratch.path(of: "file"), .create)
    #expect(try system.volumeType(of: scratch.path(of: "file") + "/none") == nil)
    for system in [MemoryFileSystem(), SimulatedDisk()] as [any FileSystem] {
      #expect(try system.volumeType(of: "/") == .memory)
      #expect(try system.volumeType(of: "/none") == nil)
    }
  }

  // MARK: Opening a store

  private func fixture(_ disk: SimulatedDisk) -> StoreFixture { .on(disk) }

  @Test(.evidence("E1"), arguments: [true, false])
  func `that is rejected gets no directory and no file`(hasDirectory: Bool) throws {
    let disk = SimulatedDisk()
    let fixture = fixture(disk)
    if hasDirectory { try disk.createDirectory(fixture.path) }
    disk.volume = .number(0x6969)
    let count = disk.callCount
    for isReadOnly in [false, true] {
      var fixture = fixture
      fixture.options.isReadOnly = isReadOnly
      let error = #expect(throws: StorageError.self) { try fixture.open() }
      #expect(error?.kind == .unsupportedFileSystem)
      #expect(error?.message.contains("NFS") == true)
    }
    #expect(disk.callCount == count)
    #expect(try disk.list(fixture.path) == (hasDirectory ? [] : nil))
    disk.volume = .number(0xEF53)
    try fixture.run { try $0.write { try $0.keyspace("k").put(1, [1]) } }
  }

  @Test(
    .evidence("E2"),
    arguments: [
      SimulatedDisk.LockFault.failure(.unsupportedFileSystem), .unseen, .lostWhenClosed,
    ])
  func `without open-file locks is detected by a probe`(
    fault: SimulatedDisk.LockFault
  ) throws {
    let disk = SimulatedDisk()
    let fixture = fixture(disk)
    try fixture.run { try $0.write { try $0.keyspace("k").put(1, [1]) } }
    let before = try fixture.allBytes()
    disk.lockFault = fault
    for isReadOnly in [false, true] {
      var fixture = fixture
      fixture.options.isReadOnly = isReadOnly
      let error = #expect(throws: StorageError.self) { try fixture.open() }
      #expect(error?.kind == .unsupportedFileSystem)
      #expect(error?.file == fixture.path(of: "locks"))
    }
    #expect(try fixture.allBytes() == before)
    disk.lockFault = nil
    try fixture.run { store throws in
      #expect(try store.snapshot().keyspace("k")?.get(1) == [1])
    }
  }

  /// Concurrent probes must not disturb each other, and a probe must not be mistaken for an open
  /// store.
  @Test(.evidence("E2")) func `is probed by several threads at once`() throws {
    let fixture = try StoreFixture.onDisk()
    try fixture.run { _ in }
    let other = try #require(try fixture.fileSystem.open(fixture.path(of: "locks"), .write))
    #expect(try other.lock(.shared, LockByte.probe..<LockByte.probe + 1))
    try fixture.run { _ throws in
      // The probe has released its lock.
      #expect(try other.lock(.exclusive, LockByte.probe..<LockByte.probe + 1))
    }
    let error = #expect(throws: StorageError.self) { try fixture.open() }
    #expect(error?.kind == .io)
    #expect(try other.lock(.none, LockByte.probe..<LockByte.probe + 1))
    try fixture.run { _ in }
  }
}
