//go:build !unix

package sqlite

import "io/fs"

// mayWrite and mayRead do nothing: the first append reports it if the file cannot be written.
func mayWrite(string) error { return nil }
func mayRead(string) error  { return nil }

// links returns 1: the number of names is not known.
func links(fs.FileInfo) uint64 { return 1 }
