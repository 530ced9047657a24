import Foundation
import HeartwoodEngine

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// A generation that one process holds and names to others, in a file that it keeps locked: when
/// the process is gone, so is the lock, and nobody takes its word any more.
final class Handover {
  /// What the sender claims to hold.
  struct Claim: Hashable {
    var generation: UInt64
    var hash: UInt64
  }

  private let descriptor: Int32

  /// The sender's side: the file as its own; `nil` while the process before has not quite gone.
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

  /// Says what is held from now on, or that nothing is; before it is let go.
  func claim(_ claim: Claim?) {
    let claim = claim ?? Claim(generation: 0, hash: 0)
    let counters = [claim.generation, claim.hash, claim.generation ^ ~claim.hash]
    _ = counters.withUnsafeBytes { pwrite(descriptor, $0.baseAddress, $0.count, 0) }
  }

  /// What the sender claims now; `nil` if it claims nothing or is no more.
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
