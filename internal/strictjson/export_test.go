package strictjson

import "unsafe"

// Refill gives r the credit of a new Reader, so that it tries to fit the next text.
func (r *Reader) Refill() {
	for _, s := range []*shelf{&r.small, &r.large} {
		if s.begun {
			s.credit = firstCredit
		}
	}
}

// Memory returns the size in bytes of the templates of r.
func (r *Reader) Memory() int {
	n := 0
	for _, t := range r.templates {
		n += cap(t.text)
		n += (cap(t.members) + cap(t.fitted)) * int(unsafe.Sizeof(member{}))
		n += cap(t.scalars)*int(unsafe.Sizeof(scalar{})) + cap(t.holes)*int(unsafe.Sizeof(hole{}))
	}
	return n
}
