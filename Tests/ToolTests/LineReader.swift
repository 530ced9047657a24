import Foundation
import Testing

final class LineReader {
  private let handle: FileHandle
  private var pending: [UInt8] = []

  init(_ handle: FileHandle) { self.handle = handle }

  func next() throws -> String {
    while true {
      if let end = pending.firstIndex(of: UInt8(ascii: "\n")) {
        defer { pending.removeSubrange(...end) }
        return String(decoding: pending[..<end], as: UTF8.self)
      }
      var bytes = [UInt8](repeating: 0, count: 4096)
      let count = read(handle.fileDescriptor, &bytes, bytes.count)
      if count < 0, errno == EINTR { continue }
      try #require(count > 0, "the output ended")
      pending += bytes[..<count]
    }
  }
}
