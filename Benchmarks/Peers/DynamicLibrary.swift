import Foundation

/// A library that is installed on this machine, loaded at run time.
///
/// Nothing is linked and no header is imported, so the package does not depend on the library.
struct DynamicLibrary {
  private let fileName: String
  private let handle: UnsafeMutableRawPointer

  /// Loads the library.
  ///
  /// Returns `nil` if there is no library with this name.
  init?(_ fileName: String) {
    guard let handle = dlopen(fileName, RTLD_NOW | RTLD_LOCAL) else { return nil }
    self.fileName = fileName
    self.handle = handle
  }

  /// Returns the function with this name.
  ///
  /// The linker does not check types: `Function` must match the C declaration in the library's
  /// header.
  func find<Function>(_ name: String) throws -> Function {
    guard let function = dlsym(handle, name) else {
      throw BenchFailure("\(fileName) has no function \(name): install a newer version.")
    }
    return unsafeBitCast(function, to: Function.self)
  }
}
