package transfer

import "github.com/p20export/p20export/store"

const (
	// batchEntries and batchBytes end a batch. Larger batches would not be faster, and
	// other writers of the thread wait for each of them. Logs in databases read pages of
	// this size, so a batch is compared with one page. A batch has one entry even if that
	// is larger.
	batchEntries = 1000
	batchBytes   = 1 << 20

	// maxWaitingBytes and maxWaitingEntries limit the memory of a Stream whose thread is
	// not known yet or whose log fails. A single entry may be larger.
	maxWaitingBytes   = 16 << 20
	maxWaitingEntries = 16384

	// maxThreads limits the threads of one stream. Agents use one.
	maxThreads = 1000

	// maxLineBytes limits a line of the portable form. Text takes at most two bytes for
	// each byte of data, and an id at most six.
	maxLineBytes = 2*store.MaxEntryBytes + 16*store.MaxIDBytes

	// maxSealBytes limits the checkpoints and tokens of all seals of a file together, because
	// they are kept in memory until they were compared with the entries. Without tokens, these
	// are about a million seals.
	maxSealBytes = 512 << 20
)

// full reports whether a batch needs no more entries.
func full(entries, bytes int) bool { return entries >= batchEntries || bytes >= batchBytes }
