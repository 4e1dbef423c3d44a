//go:build !unix

package sqlite

// writable does nothing: the first append reports it if the file cannot be written.
func writable(string) error { return nil }
