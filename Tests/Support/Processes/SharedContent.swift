package import HeartwoodEngine

/// The contents that several writers create in one store, designed so that each generation can be
/// checked by itself.
///
/// Each writer has two keyspaces. The number of the writer's last transaction determines the
/// contents of the first keyspace. The writer repeatedly creates and removes the second keyspace,
/// so that the files grow and shrink. Each transaction also moves money between two shared accounts
/// and increments a common counter.
package enum SharedContent {
  package static let writerCount = 4
  private static let accountCount = 16
  private static let ownKeyCount = 40
  private static let ballastCount = 120

  /// The values in a generation that cannot be derived from its other contents.
  package struct Summary: Hashable, Sendable {
    package var lasts: [UInt64]
    package var hash: UInt64
  }

  package struct Violation: Error, CustomStringConvertible {
    package let description: String
    package init(_ description: String) { self.description = description }
  }

  private struct Abandoned: Error {}

  // MARK: Writing

  /// Runs one transaction of a writer.
  ///
  /// Some transactions, chosen at random, are abandoned at the end.
  ///
  /// - Parameter begin: Called before anything is changed, with the number of the writer's last
  ///   committed transaction.
  /// - Returns: The number and generation of the transaction, or `nil` if it was abandoned.
  package static func write(
    _ writer: Int, to store: Store, durability: StoreOptions.Durability,
    _ generator: inout SeededGenerator, begin: (_ last: UInt64) throws -> Void
  ) throws -> (number: UInt64, generation: Generation)? {
    var number: UInt64 = 0
    var random = generator.forked()
    let isLost = random.isTrue(in256: 12)
    do {
      let generation = try store.write(durability: durability) { transaction in
        let own = try transaction.keyspace("own-\(writer)")
        let last = Self.number(try own.get(-1))
        try begin(last)
        number = last + 1
        try own.put(-1, Self.bytes(number))
        try own.put(Int(number % UInt64(Self.ownKeyCount)), Self.value(writer, number))
        try Self.moveMoney(transaction, &random)
        try Self.changeBallast(writer, number, transaction)
        if random.isTrue(in256: 24) { try Self.tryInVain(writer, &transaction) }
        let all = try transaction.keyspace("all")
        try all.put(0, Self.bytes(Self.number(try all.get(0)) + 1))
        if isLost { throw Abandoned() }
      }
      return (number, generation)
    } catch is Abandoned {
      return nil
    }
  }

  private static func moveMoney(
    _ transaction: borrowing WriteTransaction, _ random: inout SeededGenerator
  ) throws {
    let accounts = try transaction.keyspace("accounts")
    if try accounts.count() == 0 {
      for account in 0..<accountCount { try accounts.put(account, bytes(1000)) }
    }
    let source = random.below(accountCount)
    let target = random.below(accountCount)
    let balance = number(try accounts.get(source))
    let amount = min(balance, UInt64(random.below(50)))
    try accounts.put(source, bytes(balance - amount))
    try accounts.put(target, bytes(number(try accounts.get(target)) + amount))
  }

  /// Makes changes in a savepoint and rolls them back, so they must never be visible.
  private static func tryInVain(_ writer: Int, _ transaction: inout WriteTransaction) throws {
    do {
      try transaction.savepoint { part in
        let own = try part.keyspace("own-\(writer)")
        for key in 0..<60 { try own.put(1000 + key, [UInt8](repeating: 9, count: 2000)) }
        throw Abandoned()
      }
    } catch is Abandoned {}
  }

  /// Writes or removes more data than a transaction can keep in memory.
  ///
  /// The data is present for 16 transactions and then absent for the next 16.
  private static func changeBallast(
    _ writer: Int, _ number: UInt64, _ transaction: borrowing WriteTransaction
  ) throws {
    if number % 32 == 16 {
      let ballast = try transaction.keyspace("ballast-\(writer)")
      for key in 0..<ballastCount {
        try ballast.put(
          key, [UInt8](repeating: UInt8(truncatingIfNeeded: number / 32), count: 2500))
      }
    } else if number % 32 == 0 {
      try transaction.removeKeyspace("ballast-\(writer)")
    }
  }

  // MARK: Checking

  /// Reads a complete snapshot, and checks that it is a consistent state of these contents.
  package static func check(_ snapshot: Snapshot) throws -> Summary {
    var lasts: [UInt64] = []
    for writer in 0..<writerCount { lasts.append(try checkOwn(writer, snapshot)) }
    let all = number(try snapshot.keyspace("all")?.get(0))
    guard lasts.reduce(0, +) == all else {
      throw Violation("\(snapshot.generation): \(lasts) do not add up to the total of \(all)")
    }
    var hash: UInt64 = 14_695_981_039_346_656_037
    var sum: UInt64 = 0
    if let accounts = try snapshot.keyspace("accounts") {
      for account in 0..<accountCount {
        let balance = number(try accounts.get(account))
        sum += balance
        hash = (hash ^ balance) &* 1_099_511_628_211
      }
      guard sum == 1000 * UInt64(accountCount) else {
        throw Violation("\(snapshot.generation): the accounts have a total of \(sum)")
      }
    }
    return Summary(lasts: lasts, hash: hash)
  }

  private static func checkOwn(_ writer: Int, _ snapshot: Snapshot) throws -> UInt64 {
    guard let own = try snapshot.keyspace("own-\(writer)") else { return 0 }
    let last = number(try own.get(-1))
    let count = UInt64(ownKeyCount)
    for key in 0..<count {
      // Find the newest transaction, up to `last`, that wrote this key.
      guard last >= key, last - (last - key) % count > 0 else { continue }
      let number = last - (last - key) % count
      guard try own.get(Int(key)) == value(writer, number) else {
        throw Violation(
          "\(snapshot.generation): key \(key) of writer \(writer) is not from commit \(number)")
      }
    }
    guard try own.count() == Int(min(last, count)) + 1 else {
      throw Violation("\(snapshot.generation): writer \(writer) has \(try own.count()) keys")
    }
    try checkBallast(writer, last, snapshot)
    return last
  }

  private static func checkBallast(
    _ writer: Int, _ last: UInt64, _ snapshot: Snapshot
  ) throws {
    let ballast = try snapshot.keyspace("ballast-\(writer)")
    guard last % 32 >= 16 else {
      if ballast != nil {
        throw Violation("\(snapshot.generation): writer \(writer) has ballast after commit \(last)")
      }
      return
    }
    let expected = [UInt8](repeating: UInt8(truncatingIfNeeded: last / 32), count: 2500)
    for key in 0..<ballastCount where try ballast?.get(key) != expected {
      throw Violation("\(snapshot.generation): ballast \(key) of \(writer) is wrong after \(last)")
    }
  }

  // MARK: Bytes

  private static func value(_ writer: Int, _ number: UInt64) -> [UInt8] {
    var generator = SeededGenerator(seed: number << 8 | UInt64(writer))
    let count = generator.isTrue(in256: 16) ? 9000 + generator.below(20_000) : generator.below(900)
    return bytes(number) + [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: count)
  }

  private static func bytes(_ number: UInt64) -> [UInt8] {
    (0..<8).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
  }

  private static func number(_ bytes: [UInt8]?) -> UInt64 {
    guard let bytes, bytes.count >= 8 else { return 0 }
    return (0..<8).reduce(0) { $0 | UInt64(bytes[$1]) << UInt64($1 * 8) }
  }
}
