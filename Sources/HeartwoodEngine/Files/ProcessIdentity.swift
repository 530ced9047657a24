#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// The identity of a process for users: its PID and the name of its program.
package enum ProcessIdentity {
  /// The PID of this process.
  package static var own: Int32 { getpid() }

  /// The name of the program this process runs.
  package static let ownProgram: String = {
    #if os(Linux) || os(Android)
      // `CommandLine` opens a file here, with whatever descriptor number is free.
      program(of: own) ?? "?"
    #else
      fileName(of: CommandLine.arguments.first ?? "") ?? "?"
    #endif
  }()

  /// Returns the name of the program that another process runs; `nil` if the system does not
  /// provide it, or not to this user.
  package static func program(of process: Int32) -> String? {
    #if os(Linux) || os(Android)
      guard let bytes = OpenDescriptors.readBriefly("/proc/\(process)/cmdline") else { return nil }
      // The arguments, each terminated by a zero.
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
