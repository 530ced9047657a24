import Foundation
import HeartwoodEngine

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// An offer of a generation that one process holds and other processes may pin.
///
/// The offer is made through a file. The sender keeps the file locked. When the sender ends, the
/// system releases the lock, which voids the offer.
final class Handover {
  /// A generation that the sender claims to hold.
  struct Claim: Hashable {
    var generation: UInt64
    var hash: UInt64
  }

  private let descriptor: Int32

  /// Opens the sender's own file, or returns `nil` if the previous process of this sender still
  /// holds the lock.
  init?(sendingAt path: String) {
    descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o644)
    guard descriptor >= 0, flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
      close(descriptor)
      return nil
    }
  }

  /// Opens a sender's file on behalf of a receiver, or returns `nil` if the file cannot be opened.
  init?(receivingAt path: String) {
    descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
  }

  deinit { close(descriptor) }

  /// Offers a generation that is already held, or withdraws the offer if `claim` is `nil`.
  ///
  /// Withdraw the offer before releasing the generation.
  func claim(_ claim: Claim?) {
    let claim = claim ?? Claim(generation: 0, hash: 0)
    let counters = [claim.generation, claim.hash, claim.generation ^ ~claim.hash]
    _ = counters.withUnsafeBytes { pwrite(descriptor, $0.baseAddress, $0.count, 0) }
  }

  /// Returns the sender's current claim, or `nil` if there is none or the sender has ended.
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
