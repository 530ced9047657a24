// The properties below convert between this machine's byte order and that of the files. They do not
// use the generic `init(littleEndian:)`, because a debug build would call it through a function
// table.

extension UInt16 {
  /// This number, converted to or from little-endian byte order.
  @_transparent
  package var inLittleEndian: UInt16 {
    #if _endian(little)
      self
    #else
      byteSwapped
    #endif
  }
}

extension UInt32 {
  /// This number, converted to or from little-endian byte order.
  @_transparent
  package var inLittleEndian: UInt32 {
    #if _endian(little)
      self
    #else
      byteSwapped
    #endif
  }
}

extension UInt64 {
  /// This number, converted to or from little-endian byte order.
  @_transparent
  package var inLittleEndian: UInt64 {
    #if _endian(little)
      self
    #else
      byteSwapped
    #endif
  }

  /// This number, converted to or from big-endian byte order.
  @_transparent
  package var inBigEndian: UInt64 { inLittleEndian.byteSwapped }
}
