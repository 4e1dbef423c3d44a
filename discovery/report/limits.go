package report

// limits bound a page, whatever its captures hold. Bytes are counted as they
// stand in the page, escapes and markup included.
type limits struct {
	// sections is how many runs one page shows.
	sections int
	// events is how many events of all captures the timelines list one by one;
	// the rest are counted.
	events int
	// event bounds the raw text of one event in a timeline, in bytes, and
	// events together hold no more than timelines.
	event, timelines int
	// body is how much is shown of a response without a run, in bytes of it.
	body int
	// tree bounds one event or artifact that is shown as a tree, and all trees
	// together hold no more than trees.
	tree, trees int
	// listed is how many findings or omissions one list has; facts bounds what
	// all lists hold together, in bytes.
	listed, facts int
}

// bounds keep the largest page, of the most hostile captures, below a hundred
// megabytes. A committed capture takes some tens of kilobytes.
var bounds = limits{
	sections:  1_000,
	events:    100_000,
	event:     64 << 10,
	timelines: 8 << 20,
	body:      64 << 10,
	tree:      2 << 20,
	trees:     8 << 20,
	listed:    200,
	facts:     8 << 20,
}

// item is the markup around one thing of a list, in bytes, which counts as well.
const item = 200

// maxFact is how much of an id, a label or an address is shown, in bytes. The
// contract takes 256 code points.
const maxFact = 1 << 10

// maxName is how much of a role, a key or the name of a tool is shown, in bytes.
const maxName = 64

// take takes up to n of what is left of a limit, and returns how much that is.
func take(left *int, n int) int {
	n = min(n, *left)
	*left -= n
	return n
}
