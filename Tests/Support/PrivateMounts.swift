#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// Creates mounts that are visible only to the calling thread and disappear when it ends.
///
/// On Linux, mounting needs administrator rights. Without these rights, and on other systems, every
/// call fails.
package enum PrivateMounts {
  #if os(Linux)
    private static func symbol<T>(_ name: String, as type: T.Type) -> T? {
      dlsym(dlopen(nil, RTLD_NOW), name).map { unsafeBitCast($0, to: type) }
    }

    private typealias Text = UnsafePointer<CChar>?
    private typealias MountCall = @convention(c) (Text, Text, Text, UInt, Text) -> Int32
    private typealias UnshareCall = @convention(c) (Int32) -> Int32

    private static let mount = symbol("mount", as: MountCall.self)
    private static let unshare = symbol("unshare", as: UnshareCall.self)

    // These values come from <sched.h> and <sys/mount.h>. Swift's C library modules do not provide
    // them.
    private static let newMounts: Int32 = 0x0002_0000
    private static let readOnly: UInt = 0x0001
    private static let remount: UInt = 0x0020
    private static let bind: UInt = 0x1000
    private static let recursive: UInt = 0x4000
    private static let isPrivate: UInt = 0x4_0000

    /// Moves the calling thread to its own mount namespace, or returns `false` if that is not
    /// permitted.
    package static func begin() -> Bool {
      guard let unshare, let mount else { return false }
      return unshare(newMounts) == 0 && mount(nil, "/", nil, recursive | isPrivate, nil) == 0
    }

    /// Mounts a new tmpfs on a directory.
    package static func mountMemory(on path: String) -> Bool {
      mount?("none", path, "tmpfs", 0, "size=64m") == 0
    }

    /// Also mounts the directory `source` at a second path.
    package static func mountDirectory(_ source: String, on path: String) -> Bool {
      mount?(source, path, nil, bind, nil) == 0
    }

    /// Makes a directory read-only by mounting it over itself.
    package static func mountReadOnly(_ path: String) -> Bool {
      mountDirectory(path, on: path) && mount?(nil, path, nil, remount | bind | readOnly, nil) == 0
    }

    /// Mounts an overlay on top of the directory `lower`; changes are stored in `upper`.
    package static func mountOverlay(
      on path: String, lower: String, upper: String, work: String
    ) -> Bool {
      let options = "lowerdir=\(lower),upperdir=\(upper),workdir=\(work)"
      return mount?("overlay", path, "overlay", 0, options) == 0
    }

    /// A Boolean value that indicates whether this process is permitted to create mounts.
    package static let arePossible: Bool = {
      // Look up the symbols before forking, because a lookup in the child could wait for the
      // loader's lock forever.
      guard unshare != nil, mount != nil else { return false }
      // Try this in a child process, because the calling thread's mounts must not change.
      return ForkedProcess { begin() ? 0 : 1 }.wait() == 0
    }()
  #else
    package static func begin() -> Bool { false }
    package static func mountMemory(on path: String) -> Bool { false }
    package static func mountDirectory(_ source: String, on path: String) -> Bool { false }
    package static func mountReadOnly(_ path: String) -> Bool { false }
    package static func mountOverlay(
      on path: String, lower: String, upper: String, work: String
    ) -> Bool { false }
    package static let arePossible = false
  #endif
}
