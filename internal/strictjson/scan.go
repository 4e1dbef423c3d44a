package strictjson

import "encoding/binary"

// frame is an array or object that scan has entered.
type frame struct {
	object bool
	closer byte
	first  int    // index of the object's first name in Decoder.names
	seen   uint64 // the bits of the object's names; see nameBit
}

func newFrame(opener byte, first int) frame {
	return frame{object: opener == '{', closer: opener + 2, first: first} // in ASCII, } is { + 2 and ] is [ + 2
}

// scan reads to the end of the array or object that begins with the token t, which d has
// just read. It appends the members of that object, but not of those inside it, to
// members. Scan makes no tokens and accepts what Next accepts without marking a name.
// Otherwise ok is false and d is as it was before, so that Next finds the fault.
func (d *Decoder) scan(t Token, members []member) (_ []member, ok bool) {
	first, tables := d.open[len(d.open)-1].first, len(d.index.tables)
	list, end := d.scanTo(newFrame(byte(t.Kind), first), len(d.open), members)
	d.names, d.frames = d.names[:first], d.frames[:0]
	if end < 0 {
		d.index.tables = d.index.tables[:tables]
		return members, false
	}
	d.pos, d.open = end, d.open[:len(d.open)-1]
	return list, true
}

// scanText reads data as one object, stores its members in o, and returns its place. If
// data is of another kind or has a fault, end is -1.
func (d *Decoder) scanText(o *Object, data []byte) (start, end int) {
	o.reset(data, 0)
	d.Reset(data)
	start = spaceEnd(data, 0)
	if start == len(data) || data[start] != '{' || d.err != nil {
		return start, -1
	}
	d.pos = start + 1
	o.members, end = d.scanTo(newFrame('{', 0), 1, o.members)
	if end >= 0 && spaceEnd(data, end) < len(data) {
		end = -1
	}
	return start, end
}

// scanTo reads to the end of the outer array or object, which is at the given depth, and
// returns the offset of its end, or -1 if it finds a fault.
func (d *Decoder) scanTo(outer frame, depth int, members []member) ([]member, int) {
	data, i := d.data, spaceEnd(d.data, d.pos)
	if i < len(data) && data[i] == outer.closer {
		return members, i + 1
	}
	var (
		top  = outer
		last member // of the outer object
	)
	for {
		// An element or member of top begins at i.
		if top.object {
			name := i
			end, value := d.scanName(&top, i)
			if i = value; i < 0 {
				return members, -1
			}
			if len(d.frames) == 0 {
				last = member{name: int32(name), nameEnd: int32(end), value: int32(i)}
			}
		}
		if i >= len(data) {
			return members, -1
		}
		c := data[i]
		kind := Kind(c)
		switch c {
		case '"':
			quote, _, ok := stringEnd(data, i+1)
			if !ok {
				return members, -1
			}
			i = quote + 1
		case '{', '[':
			if depth+len(d.frames) == MaxDepth {
				return members, -1
			}
			if len(d.frames) == 0 {
				last.kind = kind
			}
			i = spaceEnd(data, i+1)
			if i == len(data) || data[i] != c+2 {
				d.frames = append(d.frames, top)
				top = newFrame(c, len(d.names))
				continue
			}
			i++
		case 't':
			i = literalEnd(data, i, "true")
		case 'f':
			i = literalEnd(data, i, "false")
		case 'n':
			i = literalEnd(data, i, "null")
		default:
			end, fault := numberEnd(data, i)
			if fault != "" {
				return members, -1
			}
			i, kind = end, Number
		}
		if len(d.frames) == 0 {
			last.kind = kind
		}
		// A value ends at i.
		for {
			if len(d.frames) == 0 && top.object {
				last.valueEnd = int32(i)
				members = append(members, last)
			}
			if i = spaceEnd(data, i); i >= len(data) {
				return members, -1
			}
			if data[i] == ',' {
				i = spaceEnd(data, i+1)
				break
			}
			if data[i] != top.closer {
				return members, -1
			}
			i++
			if top.object && !d.allowDuplicates {
				d.index.leave(len(d.names) - top.first)
			}
			d.names = d.names[:top.first]
			if len(d.frames) == 0 {
				return members, i
			}
			top, d.frames = d.frames[len(d.frames)-1], d.frames[:len(d.frames)-1]
		}
	}
}

// scanName reads the name of a member at i and the colon. It returns the offsets of the
// end of the name and of the value; value is -1 if scanName finds a fault or the object
// already has the name.
func (d *Decoder) scanName(object *frame, i int) (end, value int) {
	data := d.data
	if i >= len(data) || data[i] != '"' {
		return 0, -1
	}
	quote, escaped, ok := stringEnd(data, i+1)
	if !ok {
		return 0, -1
	}
	end = quote + 1
	if value = spaceEnd(data, end); value == len(data) || data[value] != ':' {
		return 0, -1
	}
	name := newSpan(i, end, escaped)
	if !d.allowDuplicates {
		bit := ^uint64(0)
		if !escaped {
			bit = nameBit(data[i:end])
		}
		// Names with different bits are different, so they need not be compared.
		if object.seen&bit != 0 || len(d.names)-object.first >= fewNames {
			if d.index.add(data, d.names, object.first, name) {
				return 0, -1
			}
		}
		object.seen |= bit
	}
	d.names = append(d.names, name)
	return end, spaceEnd(data, value+1)
}

// nameBit returns one of 64 bits. It depends on the length of a quoted name, which has
// no escapes, and on its last bytes.
func nameBit(quoted []byte) uint64 {
	w := uint64(len(quoted))
	if n := len(quoted) - 1; n >= 8 {
		w += binary.LittleEndian.Uint64(quoted[n-8:])
	} else {
		for _, c := range quoted[1:n] {
			w = w<<8 + uint64(c)
		}
	}
	return 1 << (w * 0x9e3779b97f4a7c15 >> 58)
}

// literalEnd returns the offset of the end of the word at i, or len(data), where no value
// of an array or object ends, if the word is not there.
func literalEnd(data []byte, i int, word string) int {
	if len(data)-i < len(word) || string(data[i:i+len(word)]) != word {
		return len(data)
	}
	return i + len(word)
}
