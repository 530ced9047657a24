#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// The PIDs and program names of processes, for messages to users.
package enum ProcessIdentity {
  /// The PID of this process.
  package static var own: Int32 { getpid() }

  package static let ownProgram: String = {
    #if os(Linux) || os(Android)
      // Do not use `CommandLine` on these platforms: it opens a file, which could receive the
      // descriptor of a closed standard stream.
      program(of: own) ?? "?"
    #else
      fileName(of: CommandLine.arguments.first ?? "") ?? "?"
    #endif
  }()

  /// Returns the name of the program that a process runs, or `nil` if the name is unknown.
  ///
  /// On Darwin, the name is always unknown.
  package static func program(of process: Int32) -> String? {
    #if os(Linux) || os(Android)
      guard let bytes = OpenDescriptors.readBriefly("/proc/\(process)/cmdline") else { return nil }
      // Use only the bytes before the first zero, because the file contains all arguments, each
      // followed by a zero byte.
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
