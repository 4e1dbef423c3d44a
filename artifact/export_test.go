package artifact

// For tests against docs/contract.md.
var (
	RefFault    = checkReference
	TraceParts  = traceParts
	TraceShapes = traceShapes
)
