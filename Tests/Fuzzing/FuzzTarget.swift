// Linked with libFuzzer, which has the `main` and calls these two by name.

import HeartwoodEngine
import HeartwoodTestSupport

/// Says an input, and stops the process in a way the fuzzer takes for a crash.
private func fail(_ damage: StoreDamage, _ finding: String) -> Never {
  print("\(damage)")
  fatalError(finding)
}

/// Uses a store that is damaged as an input says; see ``StoreDamage/run()``.
@_cdecl("LLVMFuzzerTestOneInput")
public func useDamagedStore(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  let damage = StoreDamage(Bytes(UnsafeRawBufferPointer(start: start, count: count)))
  do {
    if let finding = try damage.run().findings.first { fail(damage, finding) }
  } catch {
    fail(damage, "\(error)")
  }
  return 0
}

/// The changes libFuzzer makes when it knows nothing of an input's form.
@_silgen_name("LLVMFuzzerMutate")
private func mutateBytes(_ start: UnsafeMutablePointer<UInt8>, _ count: Int, _ limit: Int) -> Int

/// Adds, exchanges or takes away an edit that makes sense for the store at hand; at times leaves
/// the input to libFuzzer, which puts numbers in it that the code compared others with.
@_cdecl("LLVMFuzzerCustomMutator")
public func mutateDamage(
  _ start: UnsafeMutablePointer<UInt8>, _ count: Int, _ limit: Int, _ seed: UInt32
) -> Int {
  var generator = SeededGenerator(seed: UInt64(seed))
  if generator.below(3) == 0 { return mutateBytes(start, count, limit) }
  var damage = StoreDamage(Bytes(UnsafeRawBufferPointer(start: start, count: count)))
  var mutator = Mutator(seed: generator.next())
  let last = damage.edits.count - 1
  switch generator.below(8) {
  case 0: damage.sample = UInt8(generator.below(SampleStore.all.count))
  case 1: damage.repairs.toggle()
  case 2: damage.isSameBoot.toggle()
  case 3 where last >= 0: damage.edits.remove(at: generator.below(last + 1))
  case 4 where last >= 0:
    damage.edits[generator.below(last + 1)] = mutator.edit(of: damage.store.image)
  case 5:
    let aim = Mutator.Aim.allCases[generator.below(Mutator.Aim.allCases.count)]
    damage.edits += mutator.aimedEdits(aim, at: damage.store.image)
    damage.edits = Array(damage.edits.suffix(StoreDamage.maxEditCount))
  default:
    if damage.edits.count < StoreDamage.maxEditCount {
      damage.edits.append(mutator.edit(of: damage.store.image))
    }
  }
  let encoded = damage.encoded
  guard encoded.count <= limit else { return count }
  start.update(from: encoded, count: encoded.count)
  return encoded.count
}
