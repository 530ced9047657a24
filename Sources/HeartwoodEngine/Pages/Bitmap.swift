/// Functions that read bitmap pages, in which a set bit marks a page that is in use.
package enum Bitmap {
  package static func bit(_ bit: Int, in bitmap: Bytes) -> Bool {
    bitmap.load8(BitmapLayout.bits + bit / 8) & (1 << UInt8(bit % 8)) != 0
  }

  /// Returns the index of the first bit in `first..<count` that equals `isSet`, or `nil` if there
  /// is none.
  package static func first(_ isSet: Bool, in bitmap: Bytes, from first: Int, count: Int) -> Int? {
    let skipped: UInt64 = isSet ? 0 : .max
    var position = first
    while position < count {
      if position % 64 == 0, position + 64 <= count,
        bitmap.load64(BitmapLayout.bits + position / 8) == skipped
      {
        position += 64
      } else if bit(position, in: bitmap) == isSet {
        return position
      } else {
        position += 1
      }
    }
    return nil
  }

  package static func ones(in bitmap: Bytes, _ range: Range<Int>) -> Int {
    var count = 0
    var position = range.lowerBound
    while position < range.upperBound {
      if position % 64 == 0, position + 64 <= range.upperBound {
        count += bitmap.load64(BitmapLayout.bits + position / 8).nonzeroBitCount
        position += 64
      } else {
        if bit(position, in: bitmap) { count += 1 }
        position += 1
      }
    }
    return count
  }

  package static func lastOne(in bitmap: Bytes, below end: Int) -> Int? {
    var position = end
    while position > 0 {
      if position % 64 == 0, bitmap.load64(BitmapLayout.bits + position / 8 - 8) == 0 {
        position -= 64
      } else if bit(position - 1, in: bitmap) {
        return position - 1
      } else {
        position -= 1
      }
    }
    return nil
  }
}
