// Package freeze freezes captured runs: it writes the artifact, its bounded
// envelope and its record, in memory or to files, of one capture or of many. Either
// all files of a run are written or none.
//
// The rules for reading, projecting and recording runs are in the packages that it uses.
package freeze
