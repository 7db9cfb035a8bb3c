package filter

// Term is one condition of a filter: key, operator and value, such as took, > and 2s. The word err has the key err and no
// operator.
type Term struct{ Key, Op, Value string }

// Terms returns the conditions of a filter that must all hold. ok is false if the filter is anything but such a list: if
// it has an or, a negation, or a word without a key.
func (f *Filter) Terms() (terms []Term, ok bool) {
	switch root := f.root.(type) {
	case nil:
		return nil, true
	case all:
		for _, x := range root {
			t, ok := termOf(x)
			if !ok {
				return nil, false
			}
			terms = append(terms, t)
		}
		return terms, true
	}
	t, ok := termOf(f.root)
	if !ok {
		return nil, false
	}
	return []Term{t}, true
}

func termOf(x expr) (Term, bool) {
	switch x := x.(type) {
	case failed:
		return Term{Key: flagError}, true
	case hasField:
		return Term{Key: x.text()}, true
	case *term:
		return Term{x.name, x.op, x.value}, true
	}
	return Term{}, false
}
