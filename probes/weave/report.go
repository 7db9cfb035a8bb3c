package weave

import (
	"bytes"
	"fmt"
	"os"
	"sort"

	"github.com/podstep/podstep/probes/hook"
)

// Report reads from a program's file what was woven into it, by import path.
// A program without weaving gives an empty list.
func Report(file string) ([]hook.Package, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read program: %w", err)
	}
	seen := map[string]hook.Package{}
	mark := []byte(hook.RecordMark + " ")
	for {
		i := bytes.Index(b, mark)
		if i < 0 {
			break
		}
		b = b[i:]
		// Other text may contain the mark, such as this program's own.
		if p, err := hook.ParseRecord(firstRecord(b)); err == nil {
			seen[p.Path] = p
		}
		b = b[len(mark):]
	}
	out := make([]hook.Package, 0, len(seen))
	for _, p := range seen {
		out = append(out, p)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Path < out[j].Path })
	return out, nil
}

// firstRecord returns the record with which the bytes begin: a line, and those after it that belong to it.
func firstRecord(b []byte) string {
	n := 0
	for {
		end := bytes.IndexByte(b[n:], '\n')
		if end < 0 {
			return string(b[:n])
		}
		n += end + 1
		if !bytes.HasPrefix(b[n:], []byte(hook.KubernetesMark+" ")) && !bytes.HasPrefix(b[n:], []byte(hook.MisfitMark+" ")) {
			return string(b[:n])
		}
	}
}
