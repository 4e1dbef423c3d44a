// Package sqlstore is a log in a SQL database. The packages store/sqlite and store/postgres
// say how their databases differ with a Dialect; everything else is here, so that both
// behave the same and have the same tables and columns.
//
// A thread is a row of threads with the totals, rows of entries, and rows of streams and
// runs, which are an index of the entries. Pack replaces rows of entries by a row of packs.
// Triggers refuse other changes.
//
// The package must not know what events mean: package index finds runs.
package sqlstore
