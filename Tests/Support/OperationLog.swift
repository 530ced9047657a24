import HeartwoodEngine

/// Records the calls to a simulated disk as lines of text, and computes a hash of all lines.
struct OperationLog {
  var isOn = false
  private(set) var lines: [String] = []
  private(set) var hash = Self.emptyHash

  private static let emptyHash: UInt64 = 0xCBF2_9CE4_8422_2325

  mutating func append(_ line: @autoclosure () -> String, _ outcome: FaultPlan.Outcome?) {
    guard isOn else { return }
    let ending =
      switch outcome {
      case nil: ""
      case .powerOff: " - power off"
      case .failure(let kind): " - \(kind)"
      }
    lines.append(line() + ending)
    hash = Array(lines[lines.count - 1].utf8).withBytes { Self.hash($0, from: hash) }
  }

  /// Computes the FNV-1a hash, which is simple and sufficient to tell two runs apart.
  static func hash(_ bytes: Bytes, from start: UInt64 = emptyHash) -> UInt64 {
    var hash = start
    for byte in bytes.buffer { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
    return hash
  }
}
