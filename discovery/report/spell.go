package report

import (
	"fmt"

	"github.com/p20export/p20export/internal/spell"
)

// plural spells a number with its noun.
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return spell.Grouped(int64(n)) + " " + many
}

// spelled is a time since the request was sent.
func spelled(micros int64) string {
	return fmt.Sprintf("+%s.%03d ms", spell.Grouped(micros/1000), micros%1000)
}
