// Package seal makes and verifies seals of the threads of a log, as docs/seals.md describes
// them. A seal is a checkpoint (C2SP tlog-checkpoint): the root of a Merkle tree (RFC 6962
// §2.1) whose leaves are the first entries of a thread, signed by the operator of the log.
// Somebody who has a checkpoint can detect that these entries were changed later.
//
// A seal does not say that what was logged is true or complete, and is not evidence: no
// artifact has one. Trees are computed from the entries. The package must not know what the
// data of entries mean.
package seal
