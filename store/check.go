package store

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// CheckID returns ErrKey, with the reason, unless id can be a thread id or a stream id.
func CheckID(id string) error {
	switch {
	case id == "":
		return fmt.Errorf("%w: it is empty", ErrKey)
	case len(id) > MaxIDBytes:
		return fmt.Errorf("%w: it has %d bytes and may have %d", ErrKey, len(id), MaxIDBytes)
	case strings.IndexByte(id, 0) >= 0:
		return fmt.Errorf("%w: it contains U+0000", ErrKey)
	case !utf8.ValidString(id):
		return fmt.Errorf("%w: it is not valid UTF-8", ErrKey)
	}
	return nil
}

// Check returns ErrKey, with the reason, unless k is valid.
func (k Key) Check() error {
	if err := checkOptional("the tenant", k.Tenant); err != nil {
		return err
	}
	if err := CheckID(k.Thread); err != nil {
		return fmt.Errorf("the thread: %w", err)
	}
	return nil
}

// Check returns ErrKey, with the reason, unless q is valid.
func (q ThreadQuery) Check() error {
	return checkAll(named{"the tenant", q.Tenant}, named{"the tenant to begin after", &q.After.Tenant}, named{"the thread to begin after", &q.After.Thread})
}

// Check returns ErrKey, with the reason, unless q is valid.
func (q StreamQuery) Check() error {
	return checkAll(named{"the tenant", q.Tenant}, named{"the thread", q.Thread}, named{"the prefix", &q.Prefix})
}

// Check returns ErrKey, with the reason, unless q is valid.
func (q RunQuery) Check() error {
	return checkAll(named{"the tenant", q.Tenant}, named{"the thread", q.Thread}, named{"the run", q.ID}, named{"the parent", q.Parent})
}

// named is an id of a query, which may be nil.
type named struct {
	what string
	id   *string
}

// checkAll returns ErrKey, with the reason, for the first id that is neither valid nor empty.
func checkAll(ids ...named) error {
	for _, id := range ids {
		if id.id == nil {
			continue
		}
		if err := checkOptional(id.what, *id.id); err != nil {
			return err
		}
	}
	return nil
}

// checkOptional returns ErrKey, with the reason, unless an id is valid or empty.
func checkOptional(what, id string) error {
	if id == "" {
		return nil
	}
	if err := CheckID(id); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}
