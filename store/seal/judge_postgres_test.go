//go:build seals && postgres

package seal_test

import "testing"

// TestSealsJudgePostgres tampers with the threads of a log in PostgreSQL, and compares the verdicts
// with those of the second verifier.
func TestSealsJudgePostgres(t *testing.T) {
	t.Parallel()
	d, link := postgresLog(t)
	o := newOperator(t)
	all := tamperWith(t, d, o, 6)
	agree(t, all, o.judged(t, knownOf(all), link), byThread(all))
}
