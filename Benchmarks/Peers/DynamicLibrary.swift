import Foundation

/// A library of this machine, loaded at run time.
///
/// Nothing is linked and no header is imported, so the package does not depend on it.
struct DynamicLibrary {
  private let fileName: String
  private let handle: UnsafeMutableRawPointer

  /// Loads the library; `nil` if there is none with this name.
  init?(_ fileName: String) {
    guard let handle = dlopen(fileName, RTLD_NOW | RTLD_LOCAL) else { return nil }
    self.fileName = fileName
    self.handle = handle
  }

  /// Returns a function by its name.
  ///
  /// The linker knows names only: `Function` must be the C type in the library's header.
  func find<Function>(_ name: String) throws -> Function {
    guard let function = dlsym(handle, name) else {
      throw BenchFailure("\(fileName) has no function \(name): install a newer version.")
    }
    return unsafeBitCast(function, to: Function.self)
  }
}
