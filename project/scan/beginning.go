package scan

import (
	"bytes"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/hint"
	"github.com/p20export/p20export/internal/strictjson"
)

// artifactLines is how many frames are looked at for an artifact: its canonical
// form names its schema in the second line.
const artifactLines = 4

// beginning tells from the first frames of a response whether it is an artifact.
type beginning struct {
	frames   int // looked at
	artifact bool
}

// frame takes the next frame.
func (b *beginning) frame(data []byte) {
	if b.frames == artifactLines {
		return
	}
	b.frames++
	b.artifact = b.artifact || bytes.Contains(data, []byte(`"`+artifact.Schema+`"`))
}

// explain adds to the finding that there is no run what the response is instead,
// where that is known. The compression is what the response begins as, or empty.
func (b *beginning) explain(f finding.Finding, compression string) finding.Finding {
	what, next := "", ""
	switch {
	case b.artifact:
		what, next = "this is an artifact", hint.ValidateFile
	case compression != "":
		what, next = "the response begins as "+compression, strictjson.DecompressHint
	default:
		return f
	}
	f.Message += ": " + what
	return f.WithHint("%s", next)
}
