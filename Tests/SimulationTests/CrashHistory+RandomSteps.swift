import HeartwoodEngine
import HeartwoodTestSupport

extension CrashHistory {
  /// Returns random steps, some of which are transactions too large for a small memory.
  static func randomSpillingSteps(seed: UInt64, count: Int) -> [Step] {
    var generator = SeededGenerator(seed: ~seed)
    return randomSteps(seed: seed, count: count).map { step in
      guard case .write(let durability, _, _) = step else { return step }
      return switch generator.next() % 4 {
      case 0: .abandonedSpill
      case 1: .savepoints(durability, operationCount: 4, valueByteCount: 1200)
      case 2: .write(durability, operationCount: 40, valueByteCount: 2000)
      default: step
      }
    }
  }

  static func randomSteps(seed: UInt64, count: Int) -> [Step] {
    var generator = SeededGenerator(seed: seed)
    return (0..<count).map { _ in
      switch generator.next() % 26 {
      case 21: .keep(["x", "y", "z"][Int(generator.next() % 3)])
      case 22: .release(["x", "y", "z"][Int(generator.next() % 3)])
      case 0, 1: .checkpoint
      case 20: .compact
      case 23, 24, 25: .switchProcess
      case 2: .pin
      case 3: .unpin
      case 4: .reopen
      case 5: .kill
      case 6: .abandonedWrite
      case 7: .removeKeyspace
      case 8: .write(.full, operationCount: 60, valueByteCount: 300)
      case 9: .write(.normal, operationCount: 3, valueByteCount: 20_000)
      case 10, 11, 12, 13:
        .write(.normal, operationCount: Int(generator.next() % 6) + 1, valueByteCount: 900)
      default: .write(.full, operationCount: Int(generator.next() % 6) + 1, valueByteCount: 200)
      }
    }
  }
}
