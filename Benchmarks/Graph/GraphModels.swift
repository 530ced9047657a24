import Foundation
import Heartwood

/// The item of GRDB's benchmark, which has ten integers.
final class GraphItem: ManagedObject {
  @Attribute var i0: Int64 = 0
  @Attribute var i1: Int64 = 0
  @Attribute var i2: Int64 = 0
  @Attribute var i3: Int64 = 0
  @Attribute var i4: Int64 = 0
  @Attribute var i5: Int64 = 0
  @Attribute var i6: Int64 = 0
  @Attribute var i7: Int64 = 0
  @Attribute var i8: Int64 = 0
  @Attribute var i9: Int64 = 0

  override class var entity: Entity { Entity("Item") }
}

/// A quake as a typical program would store it.
final class GraphQuake: ManagedObject {
  @Attribute var code: String = ""
  @Attribute var place: String = ""
  @Attribute var time: Date = .distantPast
  @Attribute var magnitude: Float = 0
  @Attribute var longitude: Float = 0
  @Attribute var latitude: Float = 0
  @Attribute var depth: Float = 0

  override class var entity: Entity {
    Entity("Quake") {
      Unique(\GraphQuake.code)
      Index(\GraphQuake.time)
    }
  }
}
