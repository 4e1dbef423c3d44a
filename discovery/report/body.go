package report

import (
	"fmt"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/discovery/report/internal/markup"
	"github.com/p20export/p20export/internal/humanize"
	"github.com/p20export/p20export/project/scan"
)

// body is the beginning of a response without a run.
type body struct {
	data  []byte
	more  bool // the response is longer
	bytes int64
	// status is nil and contentType is empty if they are not known.
	status      *int
	contentType string
}

// newBody returns the body of a response without a run. It returns nil if the response is
// an event stream: it has events, and its HTTP status is not an error.
func newBody(c *capture.Capture, r scan.Result) *body {
	b := &body{bytes: r.Bytes}
	if r.Manifest != nil {
		b.status, b.contentType = r.Manifest.Source.Status, r.Manifest.Source.ContentType
	}
	failed := b.status != nil && *b.status/100 != 2
	if !failed && r.Events > 0 {
		return nil
	}
	b.data, b.more = c.Head()
	return b
}

// bodyView is a body as shown on a page.
type bodyView struct {
	Says string // status, content type and size
	JSON bool   // the body is shown as a tree
	shown
}

func (v *viewer) body(b *body) *bodyView {
	view := &bodyView{}
	if b.status != nil {
		view.Says = fmt.Sprintf("Status %03d, ", *b.status)
	}
	if b.contentType != "" {
		view.Says += v.contentType(b.contentType) + ", "
	}
	view.Says += humanize.Bytes(b.bytes)
	limit := v.left.room()
	tree, n := v.show.AppendTree(nil, b.data, nil, limit)
	view.JSON = !b.more && n > 0
	if !view.JSON {
		tree, n = v.show.Append(nil, string(b.data), true, limit)
	}
	v.left.use(len(tree))
	view.shown = shown{markup.HTML(tree), b.more || n < len(b.data)}
	return view
}

// write writes the response.
func (b *bodyView) write(w *markup.Writer) {
	w.Put(`
<section class="response">
<h3>The response</h3>
<p>%s</p>`, b.Says)
	switch {
	case b.JSON:
		b.shown.write(w)
	case b.HTML != "":
		w.Put(`
<div class="tree"><div class="content">%s</div></div>`, b.HTML)
		if b.Cut {
			w.Put(`
<p class="cut">The rest is not shown here.</p>`)
		}
	}
	w.Put(`
</section>`)
}

// contentType shows the content type of a response.
func (v *viewer) contentType(text string) string {
	if len(text) > maxFact {
		return v.short(text)
	}
	return v.show.ContentType(text)
}
