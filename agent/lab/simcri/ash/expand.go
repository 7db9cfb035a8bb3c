package ash

import (
	"bytes"
	"io"
	"strconv"
	"strings"
)

// expand makes the arguments of words: what is not quoted is split at spaces.
func (sh *shell) expand(words []word) []string {
	var args []string
	for _, w := range words {
		var b strings.Builder
		begun := false
		for _, p := range w {
			text := sh.value(p)
			if p.quoted || p.plain() {
				b.WriteString(text)
				begun = true
				continue
			}
			for i, f := range strings.Fields(text) {
				if i > 0 {
					args = append(args, b.String())
					b.Reset()
				}
				b.WriteString(f)
				begun = true
			}
		}
		if begun {
			args = append(args, b.String())
		}
	}
	return args
}

// join expands a word to one text, as assignments and targets do.
func (sh *shell) join(w word) string {
	var b strings.Builder
	for _, p := range w {
		b.WriteString(sh.value(p))
	}
	return b.String()
}

func (sh *shell) value(p part) string {
	switch {
	case p.sum != nil:
		return strconv.Itoa(p.sum.value(sh))
	case p.output != nil:
		var out bytes.Buffer
		s := sh.sub()
		s.stdout = &capped{w: &out, left: maxText}
		s.run(p.output)
		s.jobs.Wait()
		return strings.TrimRight(out.String(), "\n")
	case p.name != "":
		return sh.vars[p.name]
	}
	return p.text
}

// capped forgets what is beyond its bound.
type capped struct {
	w    io.Writer
	left int
}

func (c *capped) Write(p []byte) (int, error) {
	n := min(len(p), c.left)
	c.left -= n
	_, err := c.w.Write(p[:n])
	return len(p), err
}
