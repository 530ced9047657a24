#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// What a process is to people: its number, and the name of its program.
package enum ProcessIdentity {
  /// The number of this process.
  package static var own: Int32 { getpid() }

  /// The name of the program this process runs.
  package static let ownProgram: String = {
    #if os(Linux) || os(Android)
      // Not by `CommandLine`, which opens a file here, by whatever number is free.
      program(of: own) ?? "?"
    #else
      fileName(of: CommandLine.arguments.first ?? "") ?? "?"
    #endif
  }()

  /// The name of the program that another process runs; `nil` where the system does not tell, or
  /// not to everybody.
  package static func program(of process: Int32) -> String? {
    #if os(Linux) || os(Android)
      guard let bytes = OpenDescriptors.readBriefly("/proc/\(process)/cmdline") else { return nil }
      // The arguments, each with a zero behind it.
      let first = bytes.prefix { $0 != 0 }
      return fileName(of: String(decoding: first, as: UTF8.self))
    #else
      return nil
    #endif
  }

  private static func fileName(of path: String) -> String? {
    path.split(separator: "/").last.map(String.init)
  }
}
