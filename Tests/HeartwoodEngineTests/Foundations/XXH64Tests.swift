import HeartwoodEngine
import HeartwoodTestSupport
import Testing

@Suite("The hash of bytes")
struct XXH64Tests {
  /// A hash that the reference implementation computed for random bytes, generated with their count
  /// as the seed.
  struct Vector: CustomTestStringConvertible, Sendable {
    let byteCount: Int
    let seed: UInt64
    let hash: UInt64

    var testDescription: String { "\(byteCount) bytes, seed \(seed)" }
  }

  static let vectors = [
    Vector(byteCount: 0, seed: 0, hash: 0xEF46_DB37_51D8_E999),
    Vector(byteCount: 0, seed: 0xDDA1_494C_73CF_256D, hash: 0x0809_19B4_D2DB_E34D),
    Vector(byteCount: 1, seed: 0, hash: 0xAC5D_D496_9442_2F3A),
    Vector(byteCount: 1, seed: 0xDB5B_5FAB_8F4D_3E27, hash: 0x5EEE_C487_CC45_08EC),
    Vector(byteCount: 3, seed: 0, hash: 0x5E89_2171_3693_FAAF),
    Vector(byteCount: 3, seed: 0xC7FD_E805_EC99_108D, hash: 0x93BC_7EDF_476B_C5A5),
    Vector(byteCount: 4, seed: 0, hash: 0xED35_6B03_F8B7_E29D),
    Vector(byteCount: 4, seed: 0x73AB_4876_7734_D7C1, hash: 0x14D4_281F_0A8B_C5C5),
    Vector(byteCount: 7, seed: 0, hash: 0xD15D_20A3_34C6_9551),
    Vector(byteCount: 7, seed: 0xDAE4_4550_8201_E2BD, hash: 0x7E5A_66A4_F751_CC0E),
    Vector(byteCount: 8, seed: 0, hash: 0x0F19_77A5_3C7D_E24B),
    Vector(byteCount: 8, seed: 0x309D_6B79_965E_DA32, hash: 0x4014_9805_BEC5_1FA6),
    Vector(byteCount: 12, seed: 0, hash: 0xD956_101C_CE12_502F),
    Vector(byteCount: 12, seed: 0xCDCC_6929_2F45_E678, hash: 0x9F28_3408_25D8_7ED0),
    Vector(byteCount: 31, seed: 0, hash: 0x6073_454D_65A3_6652),
    Vector(byteCount: 31, seed: 0x79CB_9E86_830C_71C2, hash: 0xE729_FE30_93C6_42BD),
    Vector(byteCount: 32, seed: 0, hash: 0x2CE3_C1E5_2C5F_0EE9),
    Vector(byteCount: 32, seed: 0x9D2C_67ED_A13F_FE79, hash: 0x0E56_3E61_F695_E100),
    Vector(byteCount: 33, seed: 0, hash: 0x072A_A573_EA33_5101),
    Vector(byteCount: 33, seed: 0x2FA9_1425_CB00_8853, hash: 0xA9B4_926E_E243_8E43),
    Vector(byteCount: 47, seed: 0, hash: 0x6452_D18D_3286_BC47),
    Vector(byteCount: 47, seed: 0x7253_EDC6_1818_7993, hash: 0x8029_B554_E7DA_33A3),
    Vector(byteCount: 63, seed: 0, hash: 0x887D_D3DB_05E2_5CF4),
    Vector(byteCount: 63, seed: 0x244C_AF9C_4DAB_B481, hash: 0x1CA5_65A7_588E_0831),
    Vector(byteCount: 64, seed: 0, hash: 0xDAF6_598C_8836_82FA),
    Vector(byteCount: 64, seed: 0x89E7_D15F_1736_2F25, hash: 0x155B_E1FC_60EA_66EB),
    Vector(byteCount: 100, seed: 0, hash: 0x1456_E563_20E4_321F),
    Vector(byteCount: 100, seed: 0xE3EF_F9C0_CF44_DD3F, hash: 0x6631_1CCF_B930_A0DF),
    Vector(byteCount: 255, seed: 0, hash: 0x4014_C232_C71F_306B),
    Vector(byteCount: 255, seed: 0xA26B_7F62_B185_2F27, hash: 0x0C98_A559_FE01_6DB3),
    Vector(byteCount: 300, seed: 0, hash: 0x775D_432A_2EF2_9668),
    Vector(byteCount: 300, seed: 0x986E_86CB_0AB8_AB67, hash: 0xBB31_C5FF_48F8_A00D),
    Vector(byteCount: 4095, seed: 0, hash: 0xC529_AE0B_820D_07E0),
    Vector(byteCount: 4095, seed: 0x656A_BD72_FB71_0734, hash: 0xBDDC_0266_F21A_AE18),
    Vector(byteCount: 4096, seed: 0, hash: 0x2781_CD0C_F538_7DC1),
    Vector(byteCount: 4096, seed: 0x73F7_78AA_F6FA_5DB8, hash: 0x1A5A_C6BB_9BC7_1841),
    Vector(byteCount: 65536, seed: 0, hash: 0x6C30_2451_AB76_03B0),
    Vector(byteCount: 65536, seed: 0xBD29_9753_A767_7796, hash: 0xF045_CBE0_A901_28EF),
    Vector(byteCount: 1000003, seed: 0, hash: 0x5F09_3B9C_B396_343E),
    Vector(byteCount: 1000003, seed: 0xA66B_0D38_9D95_847E, hash: 0x9ABE_AFB3_72D9_5CD3),
  ]

  @Test(
    arguments: [
      ("", 0xEF46_DB37_51D8_E999), ("a", 0xD24E_C4F1_A98C_6E5B), ("abc", 0x44BC_2CF5_AD77_0999),
    ] as [(String, UInt64)])
  func `short strings have their published hashes`(text: String, hash: UInt64) {
    #expect([UInt8](text.utf8).withBytes { XXH64.hash($0) } == hash)
  }

  @Test(arguments: vectors)
  func `random bytes have the hashes of the reference implementation`(vector: Vector) {
    let bytes = random(vector.byteCount)
    #expect(bytes.withBytes { XXH64.hash($0, seed: vector.seed) } == vector.hash)
    #expect(hash([bytes[...]], seed: vector.seed) == vector.hash)
  }

  @Test func `an input in two chunks has the same hash, wherever it is split`() {
    for byteCount in [0, 1, 7, 31, 32, 33, 64, 95, 129, 300] {
      let bytes = random(byteCount)
      let complete = bytes.withBytes { XXH64.hash($0, seed: 42) }
      for cut in 0...byteCount {
        #expect(hash([bytes[..<cut], bytes[cut...]], seed: 42) == complete, "cut at \(cut)")
      }
    }
  }

  @Test(arguments: [1, 2, 3] as [UInt64])
  func `an input in many chunks has the same hash`(seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    let bytes = generator.bytes(5000)
    let complete = bytes.withBytes { XXH64.hash($0, seed: seed) }
    for _ in 0..<50 {
      var chunks: [ArraySlice<UInt8>] = []
      var rest = bytes[...]
      while !rest.isEmpty {
        let count = generator.below(generator.isTrue(in256: 128) ? 8 : 200)
        chunks.append(rest.prefix(count))
        rest = rest.dropFirst(count)
      }
      #expect(hash(chunks, seed: seed) == complete)
    }
  }

  @Test func `reading the hash does not end the input`() {
    let bytes = random(100)
    var hash = XXH64(seed: 5)
    for (index, byte) in bytes.enumerated() {
      let prefix = Array(bytes[..<index])
      #expect(hash.finish() == prefix.withBytes { XXH64.hash($0, seed: 5) })
      [byte].withBytes { hash.update($0) }
    }
  }

  @Test func `the alignment of the bytes does not matter`() {
    let bytes = random(200)
    let expected = bytes.withBytes { XXH64.hash($0) }
    for shift in 0..<16 {
      let shifted = [UInt8](repeating: 0xAA, count: shift) + bytes + [0xAA]
      #expect(shifted.withBytes { XXH64.hash($0.slice(shift, 200)) } == expected)
    }
  }

  private func random(_ byteCount: Int) -> [UInt8] {
    var generator = SeededGenerator(seed: UInt64(byteCount))
    return generator.bytes(byteCount)
  }

  private func hash(_ chunks: [ArraySlice<UInt8>], seed: UInt64) -> UInt64 {
    var hash = XXH64(seed: seed)
    for chunk in chunks { Array(chunk).withBytes { hash.update($0) } }
    return hash.finish()
  }
}
