package agent

// chunk gives memory for small pieces of bytes, many at a time. It is free
// again when none of the pieces is needed any more.
type chunk struct {
	size int // how much memory is taken at once
	free []byte
}

// copy returns a copy of b.
func (c *chunk) copy(b []byte) []byte {
	if len(b) > cap(c.free)-len(c.free) {
		if len(b) > c.size/8 {
			return append(make([]byte, 0, len(b)), b...)
		}
		c.free = make([]byte, 0, c.size)
	}
	n := len(c.free)
	c.free = append(c.free, b...)
	return c.free[n:len(c.free):len(c.free)]
}
