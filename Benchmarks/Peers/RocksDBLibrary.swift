import Foundation

/// The functions of RocksDB, loaded at run time from the installed library.
struct RocksDBLibrary: Sendable {
  typealias Handle = OpaquePointer
  typealias Failure = UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>
  typealias Bytes = UnsafeRawPointer

  /// The file names of the library.
  ///
  /// The first installed file is used.
  static let fileNames = ["librocksdb.so.7.8", "librocksdb.so.7"]

  let open: @convention(c) (Handle, UnsafePointer<CChar>, Failure) -> Handle?
  let close: @convention(c) (Handle) -> Void
  let free: @convention(c) (UnsafeMutableRawPointer?) -> Void
  let put: @convention(c) (Handle, Handle, Bytes?, Int, Bytes?, Int, Failure) -> Void
  let write: @convention(c) (Handle, Handle, Handle, Failure) -> Void
  let getPinned: @convention(c) (Handle, Handle, Bytes?, Int, Failure) -> Handle?
  let sliceValue: @convention(c) (Handle, UnsafeMutablePointer<Int>) -> Bytes?
  let destroySlice: @convention(c) (Handle) -> Void
  let compactRange: @convention(c) (Handle, Bytes?, Int, Bytes?, Int) -> Void

  let createBatch: @convention(c) () -> Handle?
  let destroyBatch: @convention(c) (Handle) -> Void
  let batchPut: @convention(c) (Handle, Bytes?, Int, Bytes?, Int) -> Void
  let batchDelete: @convention(c) (Handle, Bytes?, Int) -> Void

  let createSnapshot: @convention(c) (Handle) -> Handle?
  let releaseSnapshot: @convention(c) (Handle, Handle) -> Void

  let createIterator: @convention(c) (Handle, Handle) -> Handle?
  let destroyIterator: @convention(c) (Handle) -> Void
  let seek: @convention(c) (Handle, Bytes?, Int) -> Void
  let next: @convention(c) (Handle) -> Void
  let isValid: @convention(c) (Handle) -> UInt8
  let iteratorKey: @convention(c) (Handle, UnsafeMutablePointer<Int>) -> Bytes?
  let iteratorValue: @convention(c) (Handle, UnsafeMutablePointer<Int>) -> Bytes?
  let iteratorFailure: @convention(c) (Handle, Failure) -> Void

  let createReadOptions: @convention(c) () -> Handle?
  let destroyReadOptions: @convention(c) (Handle) -> Void
  let setSnapshot: @convention(c) (Handle, Handle) -> Void
  let createWriteOptions: @convention(c) () -> Handle?
  let destroyWriteOptions: @convention(c) (Handle) -> Void
  let setSync: @convention(c) (Handle, UInt8) -> Void

  private let createOptions: @convention(c) () -> Handle?
  private let setCreateIfMissing: @convention(c) (Handle, UInt8) -> Void
  private let increaseParallelism: @convention(c) (Handle, Int32) -> Void
  private let setCompression: @convention(c) (Handle, Int32) -> Void
  private let setWriteBufferSize: @convention(c) (Handle, Int) -> Void
  private let setDynamicLevelBytes: @convention(c) (Handle, UInt8) -> Void
  private let setTableFactory: @convention(c) (Handle, Handle) -> Void
  private let createTableOptions: @convention(c) () -> Handle?
  private let setBlockCache: @convention(c) (Handle, Handle) -> Void
  private let setFilterPolicy: @convention(c) (Handle, Handle) -> Void
  private let createCache: @convention(c) (Int) -> Handle?
  private let createBloomFilter: @convention(c) (Double) -> Handle?

  /// Loads the library, or returns `nil` if it is not installed.
  init?() throws {
    guard let library = Self.fileNames.lazy.compactMap({ DynamicLibrary($0) }).first else {
      return nil
    }
    // The types above match the declarations in RocksDB's header `c.h`.
    func find<Function>(_ name: String) throws -> Function {
      try library.find("rocksdb_" + name)
    }
    open = try find("open")
    close = try find("close")
    free = try find("free")
    put = try find("put")
    write = try find("write")
    getPinned = try find("get_pinned")
    sliceValue = try find("pinnableslice_value")
    destroySlice = try find("pinnableslice_destroy")
    compactRange = try find("compact_range")
    createBatch = try find("writebatch_create")
    destroyBatch = try find("writebatch_destroy")
    batchPut = try find("writebatch_put")
    batchDelete = try find("writebatch_delete")
    createSnapshot = try find("create_snapshot")
    releaseSnapshot = try find("release_snapshot")
    createIterator = try find("create_iterator")
    destroyIterator = try find("iter_destroy")
    seek = try find("iter_seek")
    next = try find("iter_next")
    isValid = try find("iter_valid")
    iteratorKey = try find("iter_key")
    iteratorValue = try find("iter_value")
    iteratorFailure = try find("iter_get_error")
    createReadOptions = try find("readoptions_create")
    destroyReadOptions = try find("readoptions_destroy")
    setSnapshot = try find("readoptions_set_snapshot")
    createWriteOptions = try find("writeoptions_create")
    destroyWriteOptions = try find("writeoptions_destroy")
    setSync = try find("writeoptions_set_sync")
    createOptions = try find("options_create")
    setCreateIfMissing = try find("options_set_create_if_missing")
    increaseParallelism = try find("options_increase_parallelism")
    setCompression = try find("options_set_compression")
    setWriteBufferSize = try find("options_set_write_buffer_size")
    setDynamicLevelBytes = try find("options_set_level_compaction_dynamic_level_bytes")
    setTableFactory = try find("options_set_block_based_table_factory")
    createTableOptions = try find("block_based_options_create")
    setBlockCache = try find("block_based_options_set_block_cache")
    setFilterPolicy = try find("block_based_options_set_filter_policy")
    createCache = try find("cache_create_lru")
    createBloomFilter = try find("filterpolicy_create_bloom_full")
  }

  /// The version of the library, which is known only from its file name.
  let version = "7.8"

  /// The size, in bytes, of the cache of uncompressed blocks: a quarter of the available memory,
  /// but at most 4 GiB.
  static var cacheByteCount: Int { min(4 << 30, (Machine.memoryByteCount ?? 4 << 30) / 4) }
  /// The size of a write buffer, in bytes.
  ///
  /// Two write buffers may be in memory.
  static var writeBufferByteCount: Int {
    min(128 << 20, (Machine.memoryByteCount ?? 4 << 30) / 16)
  }

  /// Creates the options for opening a database.
  ///
  /// The options specify no compression, Bloom filters with 10 bits per key, and background threads
  /// for all cores.
  ///
  /// The options remain allocated until the program ends.
  func makeOptions() throws -> Handle {
    let options = try require(createOptions())
    setCreateIfMissing(options, 1)
    increaseParallelism(options, Int32(ProcessInfo.processInfo.activeProcessorCount))
    setCompression(options, 0)
    setWriteBufferSize(options, Self.writeBufferByteCount)
    setDynamicLevelBytes(options, 1)
    let table = try require(createTableOptions())
    setBlockCache(table, try require(createCache(Self.cacheByteCount)))
    setFilterPolicy(table, try require(createBloomFilter(10)))
    setTableFactory(options, table)
    return options
  }

  func require(_ handle: Handle?) throws -> Handle {
    guard let handle else { throw BenchFailure("RocksDB cannot allocate an object.") }
    return handle
  }

  /// Calls `body` with a pointer to a variable for an error message.
  ///
  /// If `body` stores a message in the variable, the method throws the message as an error.
  @inline(__always)
  func checked<R>(_ body: (Failure) -> R) throws -> R {
    var message: UnsafeMutablePointer<CChar>?
    let result = body(&message)
    if let message { throw failure(message) }
    return result
  }

  @inline(never)
  private func failure(_ message: UnsafeMutablePointer<CChar>) -> BenchFailure {
    defer { free(message) }
    return BenchFailure("RocksDB reports: \(String(cString: message)).")
  }
}
