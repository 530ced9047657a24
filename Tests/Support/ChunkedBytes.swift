import HeartwoodEngine

/// The bytes of a file, as a value whose copies share unchanged chunks.
///
/// After a crash, a file differs from its durable bytes in only a few sectors. Only the chunks that
/// contain these sectors are copied, not the entire file.
struct ChunkedBytes {
  static let chunkByteCount = 8192

  private(set) var count = 0
  /// The chunks; a chunk that was never written is an empty array and represents zeros.
  ///
  /// In the last chunk, the bytes past the end of the file are zero.
  private var chunks: [[UInt8]] = []

  /// The total size of the chunks that have been written.
  var allocatedByteCount: Int { chunks.count { !$0.isEmpty } * Self.chunkByteCount }

  /// Reads up to `target.count` bytes and returns the number of bytes read.
  func read(into target: MutableBytes, at offset: Int) -> Int {
    guard offset < count else { return 0 }
    let total = min(target.count, count - offset)
    var done = 0
    while done < total {
      let (chunk, start) = (offset + done).quotientAndRemainder(dividingBy: Self.chunkByteCount)
      let length = min(total - done, Self.chunkByteCount - start)
      if chunks[chunk].isEmpty {
        target.clear(done, length)
      } else {
        chunks[chunk].withBytes { target.copy($0.slice(start, length), to: done) }
      }
      done += length
    }
    return total
  }

  /// Returns the bytes in `range`; bytes past the end of the file are zeros.
  func bytes(_ range: Range<Int>) -> [UInt8] {
    guard !range.isEmpty else { return [] }
    return [UInt8](unsafeUninitializedCapacity: range.count) { buffer, initializedCount in
      guard let base = buffer.baseAddress else { return }
      let target = MutableBytes(base, count: range.count)
      let done = read(into: target, at: range.lowerBound)
      target.clear(done, range.count - done)
      initializedCount = range.count
    }
  }

  /// Writes `source`, extending the file as needed.
  mutating func write(_ source: Bytes, at offset: Int) {
    guard source.count > 0 else { return }
    if offset + source.count > count { setCount(offset + source.count) }
    var done = 0
    while done < source.count {
      let (chunk, start) = (offset + done).quotientAndRemainder(dividingBy: Self.chunkByteCount)
      let length = min(source.count - done, Self.chunkByteCount - start)
      let bytes = source.slice(done, length)
      if length == Self.chunkByteCount {
        // Create a new array, because writing into a shared array would first copy bytes that are
        // then overwritten.
        chunks[chunk] = bytes.copied()
      } else {
        if chunks[chunk].isEmpty {
          chunks[chunk] = [UInt8](repeating: 0, count: Self.chunkByteCount)
        }
        chunks[chunk].withUnsafeMutableBytes { buffer in
          guard let base = buffer.baseAddress else { return }
          MutableBytes(base, count: buffer.count).copy(bytes, to: start)
        }
      }
      done += length
    }
  }

  /// Truncates or extends the file; bytes added by an extension are zeros.
  mutating func setCount(_ newCount: Int) {
    let chunkCount = (newCount + Self.chunkByteCount - 1) / Self.chunkByteCount
    if chunkCount < chunks.count {
      chunks.removeLast(chunks.count - chunkCount)
    } else {
      chunks.append(contentsOf: repeatElement([], count: chunkCount - chunks.count))
    }
    let tail = newCount % Self.chunkByteCount
    if newCount < count, tail > 0, !chunks[chunkCount - 1].isEmpty {
      chunks[chunkCount - 1].withUnsafeMutableBytes { buffer in
        guard let base = buffer.baseAddress else { return }
        MutableBytes(base, count: buffer.count).clear(tail, buffer.count - tail)
      }
    }
    count = newCount
  }
}
