import Foundation

/// A library of this machine, found when the program runs.
///
/// Nothing is linked and no header is imported, so the package needs none of them.
struct DynamicLibrary {
  private let fileName: String
  private let handle: UnsafeMutableRawPointer

  /// Loads the library; `nil` if there is none of this name.
  init?(_ fileName: String) {
    guard let handle = dlopen(fileName, RTLD_NOW | RTLD_LOCAL) else { return nil }
    self.fileName = fileName
    self.handle = handle
  }

  /// A function by its name.
  ///
  /// The linker knows names only: `Function` must be the C type that the library's header says.
  func find<Function>(_ name: String) throws -> Function {
    guard let function = dlsym(handle, name) else {
      throw BenchFailure("\(fileName) has no \(name): install a newer one.")
    }
    return unsafeBitCast(function, to: Function.self)
  }
}
