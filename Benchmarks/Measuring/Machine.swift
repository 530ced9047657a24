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
  /// If this number is above 0, other programs may have affected the results.
  static var load: String {
    var averages = [0.0]
    guard getloadavg(&averages, 1) == 1 else { return "unknown" }
    return String(format: "%.1f runnable threads in the minute before", averages[0])
  }

  /// The memory available to this process, in bytes, or `nil` if the system does not report it.
  ///
  /// The memory is limited by the machine or by a control group.
  static var memoryByteCount: Int? {
    [machineByteCount, controlGroupByteCount].compactMap { $0 }.min()
  }

  /// The memory of the machine, and the limits for this process.
  static var memory: String {
    guard let machine = machineByteCount else { return "unknown" }
    let group = controlGroupByteCount.map { "\($0.grouped) bytes" } ?? "none"
    return "\(machine.grouped) bytes; limit of the control group: \(group)"
      + (addressSpaceLimit.map { "; limit of the address space: \($0.grouped) bytes" } ?? "")
  }

  private static var machineByteCount: Int? {
    let count = ProcessInfo.processInfo.physicalMemory
    return count > 0 ? Int(clamping: count) : nil
  }

  /// The smallest limit of the control groups that contain this process.
  private static var controlGroupByteCount: Int? {
    let root = "/sys/fs/cgroup"
    let lines = (try? String(contentsOfFile: "/proc/self/cgroup", encoding: .utf8)) ?? ""
    let limits = lines.split(separator: "\n").flatMap { line -> [Int] in
      let fields = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
      guard fields.count == 3, fields[1].isEmpty || fields[1] == "memory" else { return [] }
      let parts = fields[2].split(separator: "/")
      return (0...parts.count).compactMap { depth in
        let path = parts.prefix(depth).map { "/" + $0 }.joined()
        let file =
          fields[1].isEmpty
          ? root + path + "/memory.max" : root + "/memory" + path + "/memory.limit_in_bytes"
        let text = try? String(contentsOfFile: file, encoding: .utf8)
        return text.flatMap { Int($0.trimmingCharacters(in: .whitespacesAndNewlines)) }
      }
    }
    // Ignore huge numbers, because cgroups v1 reports a huge number if there is no limit.
    return limits.filter { $0 < 1 << 60 }.min()
  }

  /// The limit set with `ulimit -v`, in bytes.
  private static var addressSpaceLimit: Int? {
    let limits = try? String(contentsOfFile: "/proc/self/limits", encoding: .utf8)
    let line = limits?.split(separator: "\n").first { $0.hasPrefix("Max address space") }
    return line?.split(separator: " ").dropFirst(3).first.flatMap { Int($0) }
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
