package scan

import (
	"bytes"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/hint"
	"github.com/p20export/p20export/internal/strictjson"
)

// artifactLines is how many frames are searched for the schema of an artifact. In the
// canonical form it is in the second line.
const artifactLines = 4

// prefixDetector detects from the first frames of a response whether it is an artifact.
type prefixDetector struct {
	frames   int // searched
	artifact bool
}

// frame searches the next frame.
func (b *prefixDetector) frame(data []byte) {
	if b.frames == artifactLines {
		return
	}
	b.frames++
	b.artifact = b.artifact || bytes.Contains(data, []byte(`"`+artifact.Schema+`"`))
}

// explainNoRun adds to the finding no_run that the response is an artifact or is
// compressed. The compression is empty for an uncompressed response.
func (b *prefixDetector) explainNoRun(f finding.Finding, compression string) finding.Finding {
	what, next := "", ""
	switch {
	case b.artifact:
		what, next = "the file is an artifact", hint.ValidateFile
	case compression != "":
		what, next = "the response begins as "+compression, strictjson.DecompressHint
	default:
		return f
	}
	f.Message += ": " + what
	return f.WithHint("%s", next)
}
