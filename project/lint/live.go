package lint

import "github.com/p20export/p20export/project/lint/transport"

// Live has what is known of a response that was just recorded, and is not in its capture.
type Live struct {
	// Name replaces the path of the capture in the row, unless it is empty.
	Name string
	CORS *transport.CORS
}
