// Package work guards against work that the program did not do before. Time cannot be
// tested on machines that do other things too, so the tests count statements.
package work
