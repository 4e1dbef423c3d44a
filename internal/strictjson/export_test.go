package strictjson

// Refill gives r the credit of a new Reader, so that it tries to fit the next text.
func (r *Reader) Refill() {
	for _, s := range []*shelf{&r.small, &r.large} {
		if s.begun {
			s.credit = firstCredit
		}
	}
}
