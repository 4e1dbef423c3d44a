package artifact

import "fmt"

// Profile names a set of limits. V1 accepts every artifact that Assay accepts.
type Profile string

// The profiles: the contract itself, and the contract with the narrower limits of
// Assay's mapper.
const (
	V1    Profile = "v1"
	Assay Profile = "assay"
)

// Profiles lists the profiles.
func Profiles() []Profile { return []Profile{V1, Assay} }

// ParseProfile returns the named profile.
func ParseProfile(name string) (Profile, error) {
	for _, p := range Profiles() {
		if string(p) == name {
			return p, nil
		}
	}
	return "", fmt.Errorf("profile %q is not known; the profiles are v1 and assay", name)
}

// Limits bounds the content of an artifact. The lengths of strings are in Unicode code
// points. The limits keep an artifact reviewable (P20 §8.3, "bounded").
type Limits struct {
	Ref          int // thread, run and parent run reference
	MessageID    int
	Name         int
	Content      int // each message
	ErrorCode    int
	ErrorMessage int
	Messages     int // number of messages
	FileBytes    int // size of the artifact file
}

// MaxFileBytes is the maximum size of an artifact file under any profile, in bytes.
const MaxFileBytes = 8 << 20

// MaxEventData bounds the canonical JSON (RFC 8785) of an artifact under the Assay
// profile, in bytes. Assay reads event lines of up to 1,048,576 bytes; 4,096 of these
// bytes are reserved for the rest of the event.
const MaxEventData = 1<<20 - 4096

// maxTraceText is the number of code points of an error text that are searched for a
// stack trace. It is eight times the limit of the text, and bounds the cost of the
// search.
const maxTraceText = 8_192

// limitsV1 apply to untrimmed strings.
var limitsV1 = Limits{
	Ref: 256, MessageID: 256, Name: 128, Content: 262_144,
	ErrorCode: 128, ErrorMessage: 1_024,
	Messages: 2_000, FileBytes: MaxFileBytes,
}

// limitsAssay apply to trimmed strings, as in Assay's mapping.
var limitsAssay = Limits{
	Ref: 96, MessageID: 96, Name: 60, Content: 400,
	ErrorCode: 48, ErrorMessage: 200,
	Messages: 2_000, FileBytes: MaxFileBytes,
}

// Limits returns the profile's limits.
func (p Profile) Limits() Limits {
	if p == Assay {
		return limitsAssay
	}
	return limitsV1
}
