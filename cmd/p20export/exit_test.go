package main

import "github.com/p20export/p20export/cmd/p20export/internal/render"

// The exit statuses, as the program returns them.
const (
	exitDone     = int(render.Done)
	exitNegative = int(render.Negative)
	exitUsage    = int(render.Usage)
	exitFailed   = int(render.Failed)
)
