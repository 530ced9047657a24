/// What has happened in a run, told so that orders that differ only in steps that have nothing to
/// do with each other are the same: as Mazurkiewicz traces (Concurrent program schemes and their
/// interpretations, 1977), of which only a hash is kept.
///
/// A step's hash follows from the participant's step before it and from the steps of others that it
/// could have noticed: the last that changed what it touches, and, if it changes that itself, those
/// that have looked at it since. The hash of the whole is their sum, in any order.
struct Trace {
  private var total: UInt64 = 0
  private var lastSteps: [Int: UInt64] = [:]
  private var lastWrites: [UInt64: UInt64] = [:]
  private var readsSince: [UInt64: UInt64] = [:]
  /// The last step that everybody notices.
  private var barrier: UInt64 = 0

  /// Which state has been reached; equal states go on in the same way.
  var hash: UInt64 { total }

  mutating func append(_ participant: Int, _ operation: Schedule.Operation) {
    var step = Self.mix(UInt64(participant), lastSteps[participant, default: 0], barrier)
    let name = UInt64(UInt(bitPattern: operation.name.utf8Start))
    step = Self.mix(step, name, operation.isWrite ? 1 : 0)
    if operation.keys.contains(Schedule.killKey) {
      step = Self.mix(step, total, 2)
      barrier = step
    }
    for key in operation.keys {
      step = Self.mix(step, key, lastWrites[key, default: 0])
      if operation.isWrite { step = Self.mix(step, key, readsSince[key, default: 0]) }
    }
    for key in operation.keys {
      if operation.isWrite {
        lastWrites[key] = step
        readsSince[key] = nil
      } else {
        readsSince[key, default: 0] &+= step
      }
    }
    lastSteps[participant] = step
    total &+= step
  }

  /// Distinguishes what it is made of, in this order (the finaliser of SplitMix64, twice).
  static func mix(_ first: UInt64, _ second: UInt64, _ third: UInt64) -> UInt64 {
    var result = first &* 0x9E37_79B9_7F4A_7C15 &+ second
    result = (result ^ result >> 30) &* 0xBF58_476D_1CE4_E5B9 &+ third
    result = (result ^ result >> 27) &* 0x94D0_49BB_1331_11EB
    return result ^ result >> 31
  }
}
