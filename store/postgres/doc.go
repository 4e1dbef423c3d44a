// Package postgres is a log in a PostgreSQL database, of version 15 or newer.
//
// An append is one statement: it changes the row of the thread if that still has the last
// position that was expected, and inserts the other rows. The server has written it to disk when
// it returns (synchronous_commit=on). Appends to different threads do not wait for each other.
//
// Each open log with followers has one connection that listens for notifications. Appends send
// them after the commit. If the server goes away, followers wait for it, and then continue after
// the last entry that they returned. Other calls fail and can be repeated.
//
// Triggers refuse changes that a log never makes. They guard against mistakes and other programs,
// not against the owner of the tables, who can remove them.
package postgres
