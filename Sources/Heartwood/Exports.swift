@_exported public import HeartwoodEngine
