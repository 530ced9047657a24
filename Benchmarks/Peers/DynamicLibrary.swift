import Foundation

/// A library that is installed on this machine and loaded at run time.
///
/// Nothing is linked and no header is imported, so the package does not depend on the library.
struct DynamicLibrary {
  private let fileName: String
  private let handle: UnsafeMutableRawPointer

  /// Loads the library with the given file name, or returns `nil` if it is not installed.
  init?(_ fileName: String) {
    guard let handle = dlopen(fileName, RTLD_NOW | RTLD_LOCAL) else { return nil }
    self.fileName = fileName
    self.handle = handle
  }

  /// Returns the function with this name.
  ///
  /// `Function` must match the C declaration in the library's header, because the type is not
  /// checked.
  func find<Function>(_ name: String) throws -> Function {
    guard let function = dlsym(handle, name) else {
      throw BenchFailure(
        "\(fileName) has no function \(name). Install a newer version of the library.")
    }
    return unsafeBitCast(function, to: Function.self)
  }
}
