package seal

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/digest"
	"github.com/p20export/p20export/store"
)

// Checkpoint is what a seal says.
type Checkpoint struct {
	// Origin names the tree, and the keys that sign it: see OriginOf.
	Origin string
	// Size is the number of entries, and Root the root of the tree with their leaves.
	Size int64
	Root Hash
	// Tenant and Thread are the SHA-256 of the ids of the thread.
	Tenant, Thread digest.Digest
	// Time is when the seal was made, by the clock of the operator. It has whole seconds.
	Time time.Time
}

// MaxOriginBytes is the maximum size of the name that begins the origins of a log.
const MaxOriginBytes = 200

// CheckOrigin checks the name that begins the origins of a log. It should be like a URL
// without its scheme, such as agents.example/log.
func CheckOrigin(name string) error {
	switch {
	case name == "":
		return errors.New("it is empty")
	case strings.Contains(name, "://"):
		return errors.New("it has a scheme, which origins do not have")
	case len(name) > MaxOriginBytes:
		return fmt.Errorf("it has %d bytes and may have %d", len(name), MaxOriginBytes)
	case !utf8.ValidString(name), strings.ContainsFunc(name, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) || r == '+' }):
		return errors.New("it has a space, a + or a character that cannot be printed")
	}
	return nil
}

// OriginOf returns the origin of the tree of a thread: the name of the log, a slash, and the
// SHA-256 of the ids of tenant and thread with U+0000 between them, in hexadecimal digits.
func OriginOf(name string, key store.Key) string {
	sum := sha256.Sum256([]byte(key.Tenant + "\x00" + key.Thread))
	return name + "/" + hex.EncodeToString(sum[:])
}

// checkOriginOf checks that an origin is one of OriginOf.
func checkOriginOf(origin string) error {
	i := strings.LastIndexByte(origin, '/')
	if i < 0 {
		return errors.New("it has no slash")
	}
	if _, err := digest.Parse("sha256:" + origin[i+1:]); err != nil {
		return err
	}
	return CheckOrigin(origin[:i])
}

// String returns the text that is signed (C2SP tlog-checkpoint).
func (c *Checkpoint) String() string {
	return fmt.Sprintf("%s\n%d\n%s\ntenant %s\nthread %s\ntime %s\n",
		c.Origin, c.Size, base64.StdEncoding.EncodeToString(c.Root[:]), c.Tenant, c.Thread, artifact.FormatTime(c.Time))
}

// parseCheckpoint parses the text of a checkpoint. It accepts only what String returns.
func parseCheckpoint(text string) (*Checkpoint, error) {
	lines := strings.Split(text, "\n")
	if len(lines) != 7 || lines[6] != "" {
		return nil, errors.New("the checkpoint does not have the six lines origin, size, root, tenant, thread and time")
	}
	c := &Checkpoint{Origin: lines[0]}
	var root []byte
	var err error
	if c.Size, err = strconv.ParseInt(lines[1], 10, 64); err != nil || c.Size < 1 {
		return nil, errors.New("the size of the checkpoint is not a number from 1")
	}
	if root, err = base64.StdEncoding.DecodeString(lines[2]); err != nil || len(root) != len(c.Root) {
		return nil, errors.New("the root of the checkpoint is not a SHA-256 in Base64")
	}
	c.Root = Hash(root)
	if c.Time, err = artifact.ParseTime(strings.TrimPrefix(lines[5], "time ")); err != nil {
		return nil, fmt.Errorf("the time of the checkpoint: %w", err)
	}
	c.Tenant, err = digest.Parse(strings.TrimPrefix(lines[3], "tenant "))
	if err == nil {
		c.Thread, err = digest.Parse(strings.TrimPrefix(lines[4], "thread "))
	}
	if err == nil {
		err = checkOriginOf(c.Origin)
	}
	if err != nil || c.String() != text {
		return nil, errors.New("the lines of the checkpoint are not in their only form")
	}
	return c, nil
}

// hasOriginOf reports whether the origin is the one that a log gives a thread.
func (c *Checkpoint) hasOriginOf(key store.Key) bool {
	return c.Origin == OriginOf(c.name(), key)
}

// name returns the name of the log.
func (c *Checkpoint) name() string { return c.Origin[:strings.LastIndexByte(c.Origin, '/')] }

// IsOf reports whether the checkpoint is of a thread of a tenant. One of the same thread id
// in another tenant is one whose log was imported there.
func (c *Checkpoint) IsOf(key store.Key) (thread, tenant bool) {
	return c.Thread == digest.Of([]byte(key.Thread)), c.Tenant == digest.Of([]byte(key.Tenant))
}
