package agent

// chunkSize is how much memory is taken at once.
const chunkSize = 64 << 10

// chunk gives memory for small pieces of bytes, many at a time. It is free
// again when none of the pieces is needed any more.
type chunk struct{ free []byte }

// copy returns a copy of b.
func (c *chunk) copy(b []byte) []byte {
	if len(b) > cap(c.free)-len(c.free) {
		if len(b) > chunkSize/8 {
			return append([]byte(nil), b...)
		}
		c.free = make([]byte, 0, chunkSize)
	}
	n := len(c.free)
	c.free = append(c.free, b...)
	return c.free[n:len(c.free):len(c.free)]
}
