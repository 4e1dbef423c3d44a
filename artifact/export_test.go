package artifact

// For tests against docs/contract.md.
var (
	RefFault    = refFault
	TraceParts  = traceParts
	TraceShapes = traceShapes
)
