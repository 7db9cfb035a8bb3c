package history

// List can forget its oldest members while the others keep their places.
type List[T any] struct {
	// First is the place of the first member that is kept, which is All[0].
	First int
	All   []T
	// front is how many forgotten members still have memory in front of All.
	front int
}

// End returns the place after the last member.
func (l *List[T]) End() int { return l.First + len(l.All) }

// Add appends a member and returns its place.
func (l *List[T]) Add(v T) int {
	if len(l.All) == cap(l.All) {
		l.front = 0 // append moves the members to new memory
	}
	l.All = append(l.All, v)
	return l.End() - 1
}

// At returns the member at a place; nil: it is not kept.
func (l *List[T]) At(i int) *T {
	if i < l.First || i >= l.End() {
		return nil
	}
	return &l.All[i-l.First]
}

// Last returns the last member; nil: there is none.
func (l *List[T]) Last() *T { return l.At(l.End() - 1) }

// Forget drops the members before a place. It gives memory back when more than half of it is unused.
func (l *List[T]) Forget(before int) {
	n := min(max(before-l.First, 0), len(l.All))
	if n == 0 {
		return
	}
	l.First, l.front = l.First+n, l.front+n
	l.All = l.All[n:]
	if l.front+cap(l.All) > 2*len(l.All)+64 || len(l.All) == 0 {
		// Not slices.Clone: its result for an empty slice keeps the memory.
		l.All, l.front = append([]T(nil), l.All...), 0
	}
}

// ForgetWhile drops the oldest members for which gone is true.
func (l *List[T]) ForgetWhile(gone func(*T) bool) {
	n := 0
	for n < len(l.All) && gone(&l.All[n]) {
		n++
	}
	l.Forget(l.First + n)
}

// LowerBound returns the place in a sorted slice of the first member that is not less than v.
func LowerBound(sorted []int, v int) int {
	lo, hi := 0, len(sorted)
	for lo < hi {
		if mid := (lo + hi) / 2; sorted[mid] < v {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}
