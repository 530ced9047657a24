/// An encoder that forwards everything to another encoder and wraps each value in an
/// ``OrderedValue``.
///
/// Its containers implement only the generic `encode` method, which primitive types also use.
struct OrderingEncoder: Encoder {
  let base: any Encoder

  var codingPath: [any CodingKey] { base.codingPath }
  var userInfo: [CodingUserInfoKey: Any] { base.userInfo }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    KeyedEncodingContainer(OrderingKeyedContainer(base: base.container(keyedBy: type)))
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer {
    OrderingUnkeyedContainer(base: base.unkeyedContainer())
  }

  func singleValueContainer() -> any SingleValueEncodingContainer {
    OrderingSingleContainer(base: base.singleValueContainer())
  }
}

private struct OrderingKeyedContainer<Key: CodingKey>: KeyedEncodingContainerProtocol {
  var base: KeyedEncodingContainer<Key>

  var codingPath: [any CodingKey] { base.codingPath }

  mutating func encodeNil(forKey key: Key) throws { try base.encodeNil(forKey: key) }
  mutating func encode(_ value: some Encodable, forKey key: Key) throws {
    try base.encode(OrderedValue(value), forKey: key)
  }

  mutating func nestedContainer<Nested: CodingKey>(
    keyedBy keyType: Nested.Type, forKey key: Key
  ) -> KeyedEncodingContainer<Nested> {
    KeyedEncodingContainer(
      OrderingKeyedContainer<Nested>(base: base.nestedContainer(keyedBy: keyType, forKey: key)))
  }

  mutating func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
    OrderingUnkeyedContainer(base: base.nestedUnkeyedContainer(forKey: key))
  }

  mutating func superEncoder() -> any Encoder { OrderingEncoder(base: base.superEncoder()) }

  mutating func superEncoder(forKey key: Key) -> any Encoder {
    OrderingEncoder(base: base.superEncoder(forKey: key))
  }
}

private struct OrderingUnkeyedContainer: UnkeyedEncodingContainer {
  var base: any UnkeyedEncodingContainer

  var codingPath: [any CodingKey] { base.codingPath }
  var count: Int { base.count }

  mutating func encodeNil() throws { try base.encodeNil() }
  mutating func encode(_ value: some Encodable) throws { try base.encode(OrderedValue(value)) }

  mutating func nestedContainer<Nested: CodingKey>(
    keyedBy keyType: Nested.Type
  ) -> KeyedEncodingContainer<Nested> {
    KeyedEncodingContainer(
      OrderingKeyedContainer<Nested>(base: base.nestedContainer(keyedBy: keyType)))
  }

  mutating func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
    OrderingUnkeyedContainer(base: base.nestedUnkeyedContainer())
  }

  mutating func superEncoder() -> any Encoder { OrderingEncoder(base: base.superEncoder()) }
}

private struct OrderingSingleContainer: SingleValueEncodingContainer {
  var base: any SingleValueEncodingContainer

  var codingPath: [any CodingKey] { base.codingPath }

  mutating func encodeNil() throws { try base.encodeNil() }
  mutating func encode(_ value: some Encodable) throws { try base.encode(OrderedValue(value)) }
}
