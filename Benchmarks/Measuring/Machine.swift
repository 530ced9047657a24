import Foundation

/// The machine and the date of a run, for the report.
enum Machine {
  /// The processor's model, if the system reports it, and the number of cores.
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

  /// The average number of runnable threads in the minute before the run.
  ///
  /// If this number is above 0, other programs may distort the figures.
  static var load: String {
    var averages = [0.0]
    guard getloadavg(&averages, 1) == 1 else { return "unknown" }
    return String(format: "%.1f runnable threads in the minute before", averages[0])
  }

  /// The anonymous memory of this process, in bytes, or `nil` if the system does not report it.
  static var anonymousByteCount: Int? {
    let status = try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)
    let line = status?.split(separator: "\n").first { $0.hasPrefix("RssAnon:") }
    return line?.split(separator: " ").dropFirst().first.flatMap { Int($0) }.map { $0 * 1024 }
  }

  static var date: String {
    ISO8601DateFormatter().string(from: Date())
  }

  /// The version of the compiler, as precisely as conditional compilation can determine it.
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
