/// A hash of the history of a run, equal for orders that differ only in the order of independent
/// steps.
///
/// The history, up to the order of independent steps, is a Mazurkiewicz trace (A. Mazurkiewicz,
/// *Concurrent Program Schemes and Their Interpretations*, 1977). The hash of a step depends on the
/// participant's previous step and on the steps of other participants that this step could have
/// observed. The step can observe the last step that changed the accessed state. If it makes a
/// change, it can also observe the steps that have read the old value. The hash of the trace is the
/// sum of the hashes of its steps, so it does not depend on their order.
struct Trace {
  private var total: UInt64 = 0
  private var lastSteps: [UInt64]
  private var keys: [UInt64: Key] = [:]

  private struct Key {
    var lastWrite: UInt64 = 0
    var readsSince: UInt64 = 0
  }

  init(participantCount: Int) { lastSteps = Array(repeating: 0, count: participantCount) }

  /// A hash of the state reached; runs with equal hashes continue in the same way.
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

  /// Mixes three numbers, whose order matters, with the steps of SplitMix64's finaliser.
  static func mix(_ first: UInt64, _ second: UInt64, _ third: UInt64) -> UInt64 {
    var result = first &* 0x9E37_79B9_7F4A_7C15 &+ second
    result = (result ^ result >> 30) &* 0xBF58_476D_1CE4_E5B9 &+ third
    result = (result ^ result >> 27) &* 0x94D0_49BB_1331_11EB
    return result ^ result >> 31
  }
}
