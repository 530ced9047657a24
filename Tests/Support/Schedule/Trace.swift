/// The history of a run, the same for orders that differ only in independent steps: Mazurkiewicz
/// traces (Concurrent program schemes and their interpretations, 1977), of which only a hash is
/// kept.
///
/// A step's hash follows from the participant's previous step and from the steps of others that it
/// could have observed: the last one that changed what it touches, and, if it changes that itself,
/// those that have read it since. The hash of the trace is their sum, in any order.
struct Trace {
  private var total: UInt64 = 0
  private var lastSteps: [UInt64]
  private var keys: [UInt64: Key] = [:]

  private struct Key {
    var lastWrite: UInt64 = 0
    var readsSince: UInt64 = 0
  }

  init(participantCount: Int) { lastSteps = Array(repeating: 0, count: participantCount) }

  /// Identifies the state reached; equal states continue in the same way.
  var hash: UInt64 { total }

  mutating func append(_ participant: Int, _ operation: Schedule.Operation) {
    let name = UInt64(UInt(bitPattern: operation.name.utf8Start))
    var step = Self.mix(UInt64(participant), lastSteps[participant], name)
    for key in operation.reads {
      step = Self.mix(step, key, keys[key, default: Key()].lastWrite)
    }
    for key in operation.writes {
      let before = keys[key, default: Key()]
      step = Self.mix(Self.mix(step, key, before.lastWrite), before.readsSince, 1)
    }
    for key in operation.reads { keys[key, default: Key()].readsSince &+= step }
    for key in operation.writes { keys[key] = Key(lastWrite: step) }
    lastSteps[participant] = step
    total &+= step
  }

  /// Depends on its inputs in this order (the finaliser of SplitMix64, twice).
  static func mix(_ first: UInt64, _ second: UInt64, _ third: UInt64) -> UInt64 {
    var result = first &* 0x9E37_79B9_7F4A_7C15 &+ second
    result = (result ^ result >> 30) &* 0xBF58_476D_1CE4_E5B9 &+ third
    result = (result ^ result >> 27) &* 0x94D0_49BB_1331_11EB
    return result ^ result >> 31
  }
}
