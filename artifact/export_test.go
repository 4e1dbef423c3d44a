package artifact

// For tests against docs/contract.md.
var (
	IsTimestamp = isTimestamp
	RefFault    = checkReference
	TraceParts  = traceParts
	TraceShapes = traceShapes
)
