import Foundation
import HeartwoodEngine

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// A generation that one process holds and offers to others, in a file that it keeps locked: when
/// the process ends, so does the lock, and the offer is void.
final class Handover {
  /// The generation that the sender claims to hold.
  struct Claim: Hashable {
    var generation: UInt64
    var hash: UInt64
  }

  private let descriptor: Int32

  /// The sender's side: its own file; `nil` while the previous process has not quite ended.
  init?(sendingAt path: String) {
    descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o644)
    guard descriptor >= 0, flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
      close(descriptor)
      return nil
    }
  }

  /// The receiver's side.
  init?(receivingAt path: String) {
    descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
  }

  deinit { close(descriptor) }

  /// Publishes the generation held from now on, or that none is held; called before it is released.
  func claim(_ claim: Claim?) {
    let claim = claim ?? Claim(generation: 0, hash: 0)
    let counters = [claim.generation, claim.hash, claim.generation ^ ~claim.hash]
    _ = counters.withUnsafeBytes { pwrite(descriptor, $0.baseAddress, $0.count, 0) }
  }

  /// The sender's current claim; `nil` if there is none or the sender has ended.
  func currentClaim() -> Claim? {
    var counters: [UInt64] = [0, 0, 0]
    let count = counters.withUnsafeMutableBytes { pread(descriptor, $0.baseAddress, 24, 0) }
    guard count == 24, counters[0] > 0, counters[2] == counters[0] ^ ~counters[1] else {
      return nil
    }
    guard flock(descriptor, LOCK_SH | LOCK_NB) != 0 else {
      flock(descriptor, LOCK_UN)
      return nil
    }
    return Claim(generation: counters[0], hash: counters[1])
  }
}
