import Heartwood
import HeartwoodTestSupport
import Testing

@Suite("Member sets")
struct MemberSetTests {
  @Test(arguments: TestScale.seeds(quick: 2, all: 8))
  func `a member set keeps insertion order`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    // With few objects, removed objects are often added again. With many objects, the set is
    // compacted.
    let objects = (0..<(4 << (seed % 8))).map { _ in Car() }
    var set = MemberSet()
    var reference: [Car] = []
    for _ in 0..<2000 {
      let car = objects[random.below(objects.count)]
      let isJoining = random.isTrue(in256: random.isTrue(in256: 128) ? 200 : 60)
      let position = reference.firstIndex(of: car)
      #expect(set.contains(car) == (position != nil), "seed \(seed)")
      if isJoining {
        #expect(set.insert(car) == (position == nil), "seed \(seed)")
        if position == nil { reference.append(car) }
      } else {
        #expect(set.remove(car) == (position != nil), "seed \(seed)")
        if let position { reference.remove(at: position) }
      }
      #expect(set.count == reference.count && set.isEmpty == reference.isEmpty, "seed \(seed)")
    }
    #expect(set.map { $0 } == reference, "seed \(seed)")
    #expect(MemberSet(reference).map { $0 } == reference, "seed \(seed)")
  }

  @Test func `a slot set holds any number of slots`() {
    var slots = SlotSet([0, 63, 64, 200])
    #expect([0, 63, 64, 200].allSatisfy { slots.contains($0) })
    #expect(!slots.contains(1) && !slots.contains(65) && !slots.contains(1000))
    slots.formUnion(SlotSet([5, 900]))
    #expect([0, 5, 200, 900].allSatisfy { slots.contains($0) })
    for slot in [0, 63, 64, 200, 7, 5, 65, 2000, 900] { slots.remove(slot) }
    #expect(slots.isEmpty)
  }
}
