// This program is linked with libFuzzer, which provides `main` and calls three functions by name.
//
// The environment variable `HEARTWOOD_FUZZ_TARGET` contains the name of the target. If
// `HEARTWOOD_FUZZ_PREPARE` names a directory, the program writes each target's seeds and dictionary
// to this directory and then exits.

import Foundation
import FuzzTargets
import HeartwoodEngine
import HeartwoodTestSupport

/// The name of the target.
private let name = ProcessInfo.processInfo.environment["HEARTWOOD_FUZZ_TARGET"] ?? storesName

/// The target, or `nil` for complete stores.
private let target: FuzzTarget? = {
  if name == storesName || name == storeReadsName { return nil }
  guard let target = FuzzTarget.all.first(where: { $0.name == name }) else {
    stop("There is no target named \(name).")
  }
  return target
}()

/// The target that uses damaged stores in every way.
private let storesName = "stores"
/// The target that only opens, verifies and reads small damaged stores, which is much faster.
private let storeReadsName = "store-reads"

private func stop(_ message: String) -> Never {
  FileHandle.standardError.write(Data((message + "\n").utf8))
  exit(2)
}

/// Finds the target, or writes the seeds and dictionaries and ends the program.
@_cdecl("LLVMFuzzerInitialize")
public func prepare(_ count: OpaquePointer, _ arguments: OpaquePointer) -> CInt {
  guard let path = ProcessInfo.processInfo.environment["HEARTWOOD_FUZZ_PREPARE"] else {
    _ = target
    return 0
  }
  do {
    for target in FuzzTarget.all { try write(target, to: URL(filePath: path)) }
    print(([storesName, storeReadsName] + FuzzTarget.all.map(\.name)).joined(separator: "\n"))
    exit(0)
  } catch {
    stop("\(error)")
  }
}

/// Writes the seeds and the dictionary of a target.
private func write(_ target: FuzzTarget, to directory: URL) throws {
  let seeds = directory.appending(path: "seeds/\(target.name)")
  try FileManager.default.createDirectory(at: seeds, withIntermediateDirectories: true)
  for (number, seed) in try target.seeds().enumerated() {
    try Data(seed).write(to: seeds.appending(path: "\(number)"))
  }
  let dictionaries = directory.appending(path: "dictionaries")
  try FileManager.default.createDirectory(at: dictionaries, withIntermediateDirectories: true)
  try Data(target.dictionary.utf8).write(to: dictionaries.appending(path: target.name))
}

/// Reads an input.
///
/// If the input fails, the function prints the failure and crashes, so that the fuzzer records the
/// input.
@_cdecl("LLVMFuzzerTestOneInput")
public func readInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  let input = Bytes(UnsafeRawBufferPointer(start: start, count: count))
  guard let target else {
    useDamagedStore(input, writes: name == storesName)
    return 0
  }
  if let finding = target.finding(for: input) { fatalError(finding) }
  return 0
}

/// Applies one of libFuzzer's generic mutations, which do not depend on the format of the input.
@_silgen_name("LLVMFuzzerMutate")
private func mutateBytes(_ start: UnsafeMutablePointer<UInt8>, _ count: Int, _ limit: Int) -> Int

/// Mutates an input.
///
/// Two thirds of the mutations of a complete store are edits that suit the sample store. libFuzzer
/// makes all other mutations. libFuzzer also inserts words from the dictionary, and numbers from
/// comparisons in the tested code.
@_cdecl("LLVMFuzzerCustomMutator")
public func mutate(
  _ start: UnsafeMutablePointer<UInt8>, _ count: Int, _ limit: Int, _ seed: UInt32
) -> Int {
  if let target {
    return mutateBytes(start, count, min(limit, max(count, target.maxByteCount)))
  }
  let count =
    seed % 3 == 0
    ? mutateBytes(start, count, limit) : mutateDamage(start, count, limit, seed)
  // Both targets of complete stores share a corpus, so the input must describe what is read.
  if name == storeReadsName, count > 0 { start[0] = smallSample(start[0]) }
  return count
}
