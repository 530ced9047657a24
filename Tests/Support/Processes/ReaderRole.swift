import Foundation
import HeartwoodEngine

/// A process that reads complete snapshots, holds some of them, rereads them, and offers them to
/// other processes.
struct ReaderRole {
  private struct Held {
    let snapshot: Snapshot
    let summary: SharedContent.Summary
  }

  private let own: WorkerAssignment
  private var generator: SeededGenerator
  private let ledger: Ledger
  private var held: [Held] = []
  private var newest = Generation(frame: 0)
  /// Generations that this process read recently and that may no longer be held.
  private var past: [(generation: Generation, summary: SharedContent.Summary)] = []

  init(_ own: WorkerAssignment) {
    self.own = own
    generator = SeededGenerator(seed: own.seed)
    ledger = Ledger(at: own.ledger)
  }

  mutating func run() throws {
    var handover = Handover(sendingAt: own.handover(own.index))
    handover?.claim(nil)
    while own.goesOn {
      guard let store = try openStore() else { continue }
      ledger.record(.opened)
      newest = Generation(frame: 0)
      while own.goesOn, !generator.isTrue(in256: 3) {
        try readNewest(store)
        if !held.isEmpty, generator.isTrue(in256: 128) {
          try readAgain(held[generator.below(held.count)])
        }
        if handover == nil { handover = Handover(sendingAt: own.handover(own.index)) }
        send(through: handover)
        // These calls throw `busy` if a suspended process makes it impossible to pin an older
        // generation.
        do {
          try receive(store)
          try readPast(store)
        } catch let error as StorageError where error.kind == .busy { ledger.record(.busy) }
        if generator.isTrue(in256: 64) { usleep(UInt32(generator.below(30_000))) }
      }
      for one in held { try readAgain(one) }
      handover?.claim(nil)
      held.removeAll()
      try store.close()
    }
  }

  /// Opens the store, or returns `nil` if it does not exist yet.
  ///
  /// This reader may start before the first writer, which creates the store.
  private func openStore() throws -> Store? {
    do {
      return try own.openStore()
    } catch let error as StorageError where own.isReadOnly && error.kind == .notAStore {
      usleep(1000)
      return nil
    }
  }

  private mutating func readNewest(_ store: Store) throws {
    let snapshot = try store.snapshot()
    guard snapshot.generation >= newest else {
      throw SharedContent.Violation("the newest is \(snapshot.generation), after \(newest)")
    }
    newest = snapshot.generation
    let summary = try SharedContent.check(snapshot)
    ledger.record(
      .read, generation: snapshot.generation.frame, hash: summary.hash, lasts: summary.lasts)
    past.append((newest, summary))
    if held.count < 3, generator.isTrue(in256: 64) {
      held.append(Held(snapshot: snapshot, summary: summary))
    }
  }

  private func readAgain(_ one: Held) throws {
    guard try SharedContent.check(one.snapshot) == one.summary else {
      throw SharedContent.Violation("\(one.snapshot.generation) has changed while it was held")
    }
    record(again: one)
  }

  private func record(again one: Held) {
    ledger.record(
      .readAgain, generation: one.snapshot.generation.frame, hash: one.summary.hash,
      lasts: one.summary.lasts)
  }

  /// Requests a past generation, which may have expired, and checks its contents if it is still
  /// readable.
  private mutating func readPast(_ store: Store) throws {
    guard past.count > 12 else { return }
    let one = past.remove(at: generator.below(12))
    do {
      let snapshot = try store.snapshot(at: one.generation)
      guard try SharedContent.check(snapshot) == one.summary else {
        throw SharedContent.Violation("\(one.generation) was read with different contents")
      }
      record(again: Held(snapshot: snapshot, summary: one.summary))
    } catch let error as StorageError where error.kind == .generationExpired {
      ledger.record(.expired, generation: one.generation.frame)
    }
  }

  /// Offers the oldest held snapshot, or withdraws the offer and then releases the snapshot.
  private mutating func send(through handover: Handover?) {
    guard let first = held.first else { return }
    if generator.isTrue(in256: 40) {
      handover?.claim(nil)
      held.removeFirst()
    } else {
      handover?.claim(
        Handover.Claim(
          generation: first.snapshot.generation.frame, hash: first.summary.hash))
    }
  }

  /// Pins a generation that another reader offers, and checks that it is readable while it is
  /// offered.
  private mutating func receive(_ store: Store) throws {
    let sender = own.index + 1 + generator.below(3)
    guard let handover = Handover(receivingAt: own.handover(sender % 4)),
      let claim = handover.currentClaim()
    else { return }
    do {
      let snapshot = try store.snapshot(at: Generation(frame: claim.generation))
      let summary = try SharedContent.check(snapshot)
      guard summary.hash == claim.hash else {
        throw SharedContent.Violation("\(snapshot.generation) differs in another process")
      }
      record(again: Held(snapshot: snapshot, summary: summary))
    } catch let error as StorageError where error.kind == .generationExpired {
      ledger.record(.expired, generation: claim.generation)
      guard handover.currentClaim() == claim else { return }
      // The locks of a killed sender are released one after another, so its claim may briefly
      // outlast the generation's pin. Wait before treating this as a failure.
      usleep(300_000)
      guard handover.currentClaim() != claim else {
        throw SharedContent.Violation("\(claim.generation) expired while it was held: \(error)")
      }
    }
  }
}
