import HeartwoodEngine

/// The bytes of a store's files, which can be changed while no process has the store open.
package struct StoreImage: Sendable {
  /// The sorted names of all files that were originally not empty, even if they have been removed
  /// since.
  package let names: [String]
  package let pageByteCount: Int
  /// The files before the first edit.
  let originals: [String: [UInt8]]
  package internal(set) var files: [String: [UInt8]]
  /// For each file, the indexes of the page-sized ranges that are not all zero.
  package let usedPages: [String: [Int]]

  package init(_ files: [String: [UInt8]], pageByteCount: Int) {
    let holding = files.filter { !$0.value.isEmpty }
    names = holding.keys.sorted()
    originals = holding
    self.files = holding
    self.pageByteCount = pageByteCount
    let zeros = [UInt8](repeating: 0, count: pageByteCount)
    usedPages = holding.mapValues { bytes in
      let pageCount = (bytes.count + pageByteCount - 1) / pageByteCount
      return (0..<pageCount).filter { page in
        let start = page * pageByteCount
        let count = min(pageByteCount, bytes.count - start)
        return bytes.withBytes { bytes in
          zeros.withBytes { !bytes.slice(start, count).isSame(as: $0.slice(0, count)) }
        }
      }
    }
  }

  /// Returns the number of page-sized ranges in a file, including an incomplete range at the end.
  func pageCount(of name: String) -> Int {
    ((files[name]?.count ?? 0) + pageByteCount - 1) / pageByteCount
  }

  // MARK: Edits

  package mutating func replace(_ name: String, with bytes: [UInt8]) { files[name] = bytes }

  package mutating func apply(_ edit: StoreEdit) {
    let name = names[Int(edit.file) % names.count]
    guard var bytes = files[name], !bytes.isEmpty else { return }
    let page = Int(edit.page) % pageCount(of: name) * pageByteCount
    let offset = min(page + Int(edit.offset) % pageByteCount, bytes.count - 1)
    switch edit.kind {
    case .write:
      for (index, byte) in edit.bytes.prefix(Int(edit.count) % 8 + 1).enumerated()
      where offset + index < bytes.count {
        bytes[offset + index] = byte
      }
    case .flip:
      for (index, byte) in edit.bytes.enumerated() where offset + index < bytes.count {
        bytes[offset + index] ^= byte
      }
    case .add:
      Self.add(edit.value, width: 1 << (Int(edit.count) % 4), to: &bytes, offset)
    case .fill:
      for index in offset..<min(offset + Int(edit.count), bytes.count) {
        bytes[index] = UInt8(truncatingIfNeeded: edit.value)
      }
    case .copyPage:
      let source = Int(edit.count) % pageCount(of: name) * pageByteCount
      for index in 0..<min(pageByteCount, bytes.count - page, bytes.count - source) {
        bytes[page + index] = bytes[source + index]
      }
    case .cut:
      bytes.removeLast(bytes.count - offset)
    case .extend:
      bytes += repeatElement(UInt8(truncatingIfNeeded: edit.value), count: Int(edit.count))
    case .remove:
      files[name] = nil
      return
    case .copyFile:
      bytes = files[names[Int(edit.count) % names.count]] ?? []
    }
    files[name] = bytes
  }

  /// Adds `value` to the number of `width` bytes at `offset`, wrapping around on overflow.
  private static func add(_ value: UInt64, width: Int, to bytes: inout [UInt8], _ offset: Int) {
    guard offset + width <= bytes.count else { return }
    var sum: UInt64 = 0
    for index in 0..<width { sum |= UInt64(bytes[offset + index]) << (8 * UInt64(index)) }
    sum &+= value
    for index in 0..<width { bytes[offset + index] = UInt8(truncatingIfNeeded: sum >> (8 * index)) }
  }

  // MARK: Reading from and writing to a disk

  /// Reads the files of a store from a disk.
  package init(of disk: SimulatedDisk, at path: String, pageByteCount: Int) throws {
    var files: [String: [UInt8]] = [:]
    for name in try disk.list(path) ?? [] { files[name] = disk.bytes(of: path + "/" + name) }
    if let file = try disk.open(path + "/counters", .write) {
      let counters = try file.mapShared(byteCount: CountersLayout.byteCount)
      files["counters"] = counters.bytes.bytes.copied()
    }
    self.init(files, pageByteCount: pageByteCount)
  }

  /// Writes the changed files to the disk from which the originals were read.
  ///
  /// Files are changed in place, because the next process identifies them by inode.
  package func install(on disk: SimulatedDisk, at path: String) throws {
    for name in names where isChanged(name) {
      let filePath = path + "/" + name
      guard let bytes = files[name], let file = try disk.open(filePath, .write) else {
        try disk.remove(filePath)
        continue
      }
      try file.setByteCount(UInt64(bytes.count))
      if !bytes.isEmpty { try file.write(bytes, at: 0) }
      guard name == "counters", bytes.count >= CountersLayout.byteCount else { continue }
      // Change the mapped memory too, because the next process reads the counters through it.
      let counters = try file.mapShared(byteCount: CountersLayout.byteCount)
      bytes.withBytes { counters.bytes.copy($0.slice(0, CountersLayout.byteCount), to: 0) }
    }
  }
}

extension StoreImage {
  /// Returns whether a file differs from the original.
  private func isChanged(_ name: String) -> Bool {
    guard let before = originals[name], let after = files[name] else { return true }
    return !before.withBytes { before in after.withBytes { before.isSame(as: $0) } }
  }
}

extension StoreEdit {
  /// The bytes of `value`, least significant byte first.
  fileprivate var bytes: [UInt8] { (0..<8).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) } }
}
