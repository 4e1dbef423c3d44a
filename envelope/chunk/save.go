package chunk

import (
	"cmp"
	"slices"

	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/internal/saving"
	"github.com/p20export/p20export/internal/strictjson"
)

// shapes are the shapes in the order of their numbers in what Save writes.
func shapes() []*shape { return []*shape{textShape, toolShape, reasoningShape} }

// Save returns the open streams as bytes. An Expander that loads them continues in the same way.
func (x *Expander) Save() []byte {
	open := make([]*stream, 0, len(x.lanes))
	for _, s := range x.lanes {
		open = append(open, s)
	}
	slices.SortFunc(open, func(a, b *stream) int { return cmp.Compare(a.order, b.order) })
	var c saving.Coder
	c.Int(&x.opened)
	saving.List(&c, &open, MaxStreams, func(s **stream) { (*s).code(&c) })
	return c.Bytes
}

// Load makes x the Expander that was saved. It accepts any bytes, and reports whether they can be
// those of one; otherwise x is not usable.
func (x *Expander) Load(saved []byte) bool {
	*x = Expander{}
	c := saving.Read(saved)
	c.Int(&x.opened)
	var open []*stream
	saving.List(c, &open, MaxStreams, func(s **stream) {
		*s = new(stream)
		(*s).code(c)
	})
	if !c.Done() {
		return false
	}
	for _, s := range open {
		x.hold(s)
	}
	return true
}

// code writes or reads a stream.
func (s *stream) code(c *saving.Coder) {
	n := slices.Index(shapes(), s.shape)
	if c.Int(&n); n < 0 || n >= len(shapes()) {
		c.Fail()
		n = 0
	}
	s.shape = shapes()[n]
	c.Bool(&s.lane.tagged)
	c.String(&s.lane.tag)
	c.Int(&s.order)
	s.size = 0
	for _, v := range []*envelope.Value{&s.id, &s.tag, &s.repeated[0], &s.repeated[1]} {
		kind := int(v.Kind)
		c.Int(&kind)
		c.Int(&v.Start)
		c.Text(&v.Raw)
		s.size += len(v.Raw)
		if v.Kind = envelope.Kind(kind); !c.Reading() || kind == 0 {
			continue
		}
		var d strictjson.Decoder
		var o strictjson.Object
		if read, err := strictjson.ReadText(&o, &d, v.Raw); err != nil || read.Kind != v.Kind {
			c.Fail()
		}
	}
}
