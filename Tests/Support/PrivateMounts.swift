#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// Mounts that only the calling thread sees, and that end with it.
///
/// They need administrator rights on Linux; elsewhere, and without them, none is possible.
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

    // From <sched.h> and <sys/mount.h>, which the overlays of the C library leave out.
    private static let newMounts: Int32 = 0x0002_0000
    private static let readOnly: UInt = 0x0001
    private static let remount: UInt = 0x0020
    private static let bind: UInt = 0x1000
    private static let recursive: UInt = 0x4000
    private static let isPrivate: UInt = 0x4_0000

    /// Gives the calling thread its own mount namespace; false if that is not permitted.
    package static func begin() -> Bool {
      guard let unshare, let mount else { return false }
      return unshare(newMounts) == 0 && mount(nil, "/", nil, recursive | isPrivate, nil) == 0
    }

    /// Mounts a new tmpfs on a directory.
    package static func mountMemory(on path: String) -> Bool {
      mount?("none", path, "tmpfs", 0, "size=64m") == 0
    }

    /// Mounts the directory `source` at another path too.
    package static func mountDirectory(_ source: String, on path: String) -> Bool {
      mount?(source, path, nil, bind, nil) == 0
    }

    /// Mounts a directory on itself, read-only.
    package static func mountReadOnly(_ path: String) -> Bool {
      mountDirectory(path, on: path) && mount?(nil, path, nil, remount | bind | readOnly, nil) == 0
    }

    /// Mounts an overlay over the directory `lower`; changes go to `upper`.
    package static func mountOverlay(
      on path: String, lower: String, upper: String, work: String
    ) -> Bool {
      let options = "lowerdir=\(lower),upperdir=\(upper),workdir=\(work)"
      return mount?("overlay", path, "overlay", 0, options) == 0
    }

    /// Whether this process may mount.
    package static let arePossible: Bool = {
      // Looked up before there is a child, which could wait for the loader's lock for ever.
      guard unshare != nil, mount != nil else { return false }
      // In a child, because the mounts of the calling thread must not change.
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
