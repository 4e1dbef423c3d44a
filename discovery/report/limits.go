package report

// limits bound the size of a page. Bytes are counted as written to the page, including
// escapes and markup.
type limits struct {
	// sections limits the runs of a page.
	sections int
	// events limits the events that all timelines list. Other events are only counted.
	events int
	// event limits the raw text of one event in a timeline, and timelines that of all
	// events together, in bytes.
	event, timelines int
	// body limits the shown part of a response without a run, in bytes of the response.
	body int
	// tree limits one event or artifact shown as a tree, and trees all trees together,
	// in bytes. Each run has share bytes of its own for trees, which are used first, so
	// that one run cannot use up the room of others. own is what is left of the share of
	// the current run.
	tree, trees, share, own int
	// listed limits the findings or omissions of one list, and facts the size of all
	// lists together, in bytes.
	listed, facts int
}

// bounds are the limits of Write. They keep every page below 100 MB, even for hostile
// captures. The page of a committed capture has some tens of kilobytes.
var bounds = limits{
	sections:  1_000,
	events:    100_000,
	event:     64 << 10,
	timelines: 8 << 20,
	body:      64 << 10,
	tree:      2 << 20,
	trees:     8 << 20,
	share:     48 << 10,
	listed:    200,
	facts:     8 << 20,
}

// item is the size of the markup around one list item, in bytes. It counts against the
// limits.
const item = 200

// maxFact limits the shown part of an id, label or URL, in bytes. The contract accepts
// ids of 256 code points.
const maxFact = 1 << 10

// maxName limits the shown part of a role, key or tool name, in bytes.
const maxName = 64

// take subtracts n from the remainder of a limit, or all of the remainder if it is less
// than n. It returns the number subtracted.
func take(left *int, n int) int {
	n = min(n, *left)
	*left -= n
	return n
}

// room returns how many bytes the next tree of a run can have.
func (l *limits) room() int { return min(l.tree, l.own+l.trees) }

// use counts n bytes of the trees of a run.
func (l *limits) use(n int) {
	n -= take(&l.own, n)
	take(&l.trees, n)
}
