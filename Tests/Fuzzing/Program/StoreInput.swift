import HeartwoodEngine
import HeartwoodTestSupport

/// Prints an input and its failure, and then crashes, so that the fuzzer records the input.
private func fail(_ damage: StoreDamage, _ finding: String) -> Never {
  print("\(damage)")
  fatalError(finding)
}

/// Uses a store with the damage that the input describes (see ``StoreDamage/run(writes:)``).
func useDamagedStore(_ input: Bytes, writes: Bool) {
  var damage = StoreDamage(input)
  if !writes { damage.sample = smallSample(damage.sample) }
  do {
    if let finding = try damage.run(writes: writes).findings.first { fail(damage, finding) }
  } catch {
    fail(damage, "\(error)")
  }
}

/// Returns the index of a sample that can be read quickly, which is the given index if possible.
func smallSample(_ sample: UInt8) -> UInt8 {
  let small = SampleStore.smallIndices
  return small.contains(sample) ? sample : small[Int(sample) % small.count]
}

/// Mutates the damage in a way that suits the sample store, such as adding, replacing or removing
/// an edit.
func mutateDamage(
  _ start: UnsafeMutablePointer<UInt8>, _ count: Int, _ limit: Int, _ seed: UInt32
) -> Int {
  var generator = SeededGenerator(seed: UInt64(seed))
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
