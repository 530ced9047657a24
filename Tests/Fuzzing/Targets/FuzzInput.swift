import Foundation
import Heartwood
import HeartwoodEngine

/// Divides an input into numbers and bytes.
///
/// After the end of the input, all numbers are zero and all byte arrays are empty.
struct FuzzInput {
  /// The bytes that have not been read yet.
  private(set) var rest: Bytes

  init(_ bytes: Bytes) { rest = bytes }

  mutating func byte() -> UInt8 {
    guard rest.count > 0 else { return 0 }
    defer { rest = rest.slice(1, rest.count - 1) }
    return rest.load8(0)
  }

  mutating func number() -> Int {
    let low = Int(byte())
    return low | Int(byte()) << 8
  }

  /// Reads at most `count` bytes.
  mutating func bytes(_ count: Int) -> Bytes {
    let length = min(count, rest.count)
    defer { rest = rest.slice(length, rest.count - length) }
    return rest.slice(0, length)
  }

  /// Reads all remaining bytes as text, in which the replacement character replaces invalid bytes.
  mutating func text() -> String { String(decoding: bytes(rest.count).buffer, as: UTF8.self) }
}

/// The parts of a structure that a target repairs so that the reader gets past its first checks.
struct Repairs: OptionSet {
  let rawValue: UInt8

  /// The hash of the bytes.
  static let hash = Repairs(rawValue: 1)
  /// The signature, and the numbers that identify the store or the file.
  static let identity = Repairs(rawValue: 2)
  /// The counts, which are made to agree with the length.
  static let counts = Repairs(rawValue: 4)
  static let all: Repairs = [.hash, .identity, .counts]
}

/// The identity of the store to which the inputs belong.
let fuzzedStore = StoreIdentity(high: 0x0123_4567_89AB_CDEF, low: 0xFEDC_BA98_7654_3210)

/// Returns whether a reader may reject its input with the error.
func isRejection(_ error: any Error) -> Bool {
  if error is ObjectGraphError || error is DecodingError { return true }
  let kinds: [StorageError.Kind] = [.corrupt, .incompatibleFormat, .invalidArgument]
  return (error as? StorageError).map { kinds.contains($0.kind) } ?? false
}

/// Returns a block with as many of the given bytes as fit, followed by zeros.
func block(_ bytes: Bytes, at offset: Int = 0, count: Int) -> ByteBlock {
  let block = ByteBlock(count: count)
  block.bytes.copy(bytes.slice(0, min(bytes.count, count - offset)), to: offset)
  return block
}

/// The offsets of the repaired fields in a header.
struct HeaderFields {
  let byteCount: Int
  let magicNumber: UInt64
  let magicOffset: Int
  let versionOffset: Int
  /// The offset of the hash, which covers all bytes before it.
  let hashOffset: Int
}

/// Returns the header in an input, after the repairs that the first byte of the input selects.
func header(
  _ bytes: Bytes, _ fields: HeaderFields, repairCounts: (MutableBytes) -> Void
) -> ByteBlock {
  var input = FuzzInput(bytes)
  let repairs = Repairs(rawValue: input.byte())
  let block = block(input.rest, count: fields.byteCount)
  let target = block.bytes
  if repairs.contains(.identity) {
    target.store64(fields.magicNumber, fields.magicOffset)
    target.store32(HeaderSlotLayout.currentVersion, fields.versionOffset)
  }
  if repairs.contains(.counts) { repairCounts(target) }
  if repairs.contains(.hash) {
    let hash = XXH64.hash(target.bytes.slice(0, fields.hashOffset), seed: 0)
    target.store64(hash, fields.hashOffset)
  }
  return block
}

extension Bytes {
  /// The bytes up to the last one that is not zero.
  var withoutFinalZeros: Bytes {
    var end = count
    while end > 0, load8(end - 1) == 0 { end -= 1 }
    return slice(0, end)
  }
}
