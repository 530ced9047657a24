import Foundation

/// Where and when a run took place: figures mean nothing without it.
enum Machine {
  /// The processor's model, where the system tells it, and the number of cores.
  static var description: String {
    let cores = ProcessInfo.processInfo.activeProcessorCount
    let coreCount = "\(cores) core\(cores == 1 ? "" : "s")"
    guard let model = processorModel else { return coreCount }
    return "\(model), \(coreCount)"
  }

  private static var processorModel: String? {
    guard let text = try? String(contentsOfFile: "/proc/cpuinfo", encoding: .utf8) else {
      return nil
    }
    let line = text.split(separator: "\n").first { $0.hasPrefix("model name") }
    return line?.split(separator: ":").last.map { $0.trimmingCharacters(in: .whitespaces) }
  }

  /// How many threads wanted a processor in the last minute: above 0, others disturb the figures.
  static var load: String {
    var averages = [0.0]
    guard getloadavg(&averages, 1) == 1 else { return "unknown" }
    return String(format: "%.1f threads wanted to run in the minute before", averages[0])
  }

  /// Memory of this process that is no file; `nil` where the system does not tell.
  static var anonymousByteCount: Int? {
    let status = try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)
    let line = status?.split(separator: "\n").first { $0.hasPrefix("RssAnon:") }
    return line?.split(separator: " ").dropFirst().first.flatMap { Int($0) }.map { $0 * 1024 }
  }

  static var date: String {
    ISO8601DateFormatter().string(from: Date())
  }

  /// The compiler's version as far as conditions can tell.
  static var swiftVersion: String {
    #if compiler(>=6.4)
      "6.4 or later"
    #elseif compiler(>=6.3)
      "6.3"
    #else
      "6.2"
    #endif
  }
}
