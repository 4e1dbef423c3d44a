package artifact

import "fmt"

// Profile names a set of limits. Whatever Assay accepts, V1 accepts.
type Profile string

// The profiles: the contract itself, and the contract narrowed to what
// Assay's mapper takes.
const (
	V1    Profile = "v1"
	Assay Profile = "assay"
)

// Profiles lists the profiles.
func Profiles() []Profile { return []Profile{V1, Assay} }

// ParseProfile returns the profile of that name.
func ParseProfile(name string) (Profile, error) {
	for _, p := range Profiles() {
		if string(p) == name {
			return p, nil
		}
	}
	return "", fmt.Errorf("profile %q is not known; the profiles are v1 and assay", name)
}

// Limits bounds what an artifact may hold. Strings are counted in Unicode code
// points. The numbers keep an artifact reviewable (P20 §8.3, "bounded").
type Limits struct {
	Ref          int // thread, run and parent run reference
	MessageID    int
	Name         int
	Content      int // each message
	ErrorCode    int
	ErrorMessage int
	Messages     int // how many
	FileBytes    int // the artifact file
}

// MaxFileBytes is the largest artifact file of any profile, in bytes.
const MaxFileBytes = 8 << 20

// MaxEventData bounds the canonical JSON (RFC 8785) of an artifact of the
// Assay profile, in bytes: Assay reads event lines of up to 1,048,576 bytes,
// of which 4,096 are kept for what stands around the artifact.
const MaxEventData = 1<<20 - 4096

// maxTraceText is how much of an error text is searched for a stack trace, in
// code points: eight times what its limit allows, so that the search stays cheap
// however long the text is.
const maxTraceText = 8_192

// limitsV1 are counted on strings as they stand.
var limitsV1 = Limits{
	Ref: 256, MessageID: 256, Name: 128, Content: 262_144,
	ErrorCode: 128, ErrorMessage: 1_024,
	Messages: 2_000, FileBytes: MaxFileBytes,
}

// limitsAssay are counted after trimming, as Assay's mapping does.
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
