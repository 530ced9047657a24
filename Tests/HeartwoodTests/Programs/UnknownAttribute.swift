// error: requires that 'Place' conform to 'AttributeValue'
import Heartwood

struct Place {
  var latitude = 0.0
}

/// An attribute must have a type that can be stored.
final class Note: ManagedObject {
  @Attribute var place: Place = Place()
}
