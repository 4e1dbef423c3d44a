// Package freeze makes frozen artifacts of captured runs: the artifact, the
// bounded envelope behind it and the record of how it was made, in memory or as
// files that are there whole or not at all.
//
// It knows the other floors and must hold no rule of theirs.
package freeze
