package render

import (
	"strings"
	"time"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/internal/humanize"
)

// optional returns a pointer to v, or nil for the zero value.
func optional[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

// seconds formats a time for text, without fractions of a second.
func seconds(t time.Time) string {
	if t.IsZero() {
		return "unknown"
	}
	return artifact.FormatTime(t.Truncate(time.Second))
}

// shownID returns an id for text that is escaped later. Ids that could be misread are quoted.
func shownID(id string) string {
	if id == "" || strings.ContainsAny(id, " \"") {
		return `"` + id + `"`
	}
	return id
}

// Counted is like Plural for numbers that can be large.
func Counted(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return humanize.Grouped(n) + " " + many
}
