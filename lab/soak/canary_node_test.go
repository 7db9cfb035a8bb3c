//go:build node

package soak

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/podstep/podstep/agent/canary"
)

// values are the values that must not leave the kubelet, by the place where each was put. They are all made here,
// because several goroutines look for them later.
var values = func() *canary.Set {
	set := canary.NewSet()
	for _, name := range []string{
		"env", "secret-envfrom", "secret-volume", "configmap", "last-applied", "annotation",
		"hook-header", "probe-header", "ephemeral", "command-password",
	} {
		set.Hard(name)
	}
	return set
}()

// secret returns the value for a place.
func secret(name string) string {
	if !slices.Contains(values.Names(), name) {
		panic("no value for " + name)
	}
	return values.Hard(name)
}

// tokenPrefix begins every token of a service account.
const tokenPrefix = "eyJhbGciOi"

// canaries has the places where canaries were found, and how much was searched.
type canaries struct {
	s      *soak
	mu     sync.Mutex
	found  map[string]int   // by value and by source
	looked map[string]int64 // bytes, by source
}

// scan searches a text for canaries. where names its source.
func (c *canaries) scan(where string, text []byte) {
	c.mu.Lock()
	c.looked[where] += int64(len(text))
	c.mu.Unlock()
	found := values.Find(text)
	if i := bytes.Index(text, []byte(tokenPrefix)); i >= 0 {
		found = append(found, canary.Found{Name: "service account token", How: "plain", Around: string(text[max(0, i-200):min(len(text), i+50)])})
	}
	for _, f := range found {
		c.add(where, f)
	}
}

func (c *canaries) add(where string, f canary.Found) {
	key := f.Name + ", " + f.How + ", in " + where
	c.mu.Lock()
	c.found[key]++
	first := c.found[key] == 1
	c.mu.Unlock()
	if first {
		c.s.errorf("in %s is %s", where, f)
	}
}

// scanner is a writer that scans what a program prints.
type scanner struct {
	c     *canaries
	where string
	mu    sync.Mutex
	tail  []byte // the end, which may have the beginning of a canary
	first []byte // the first bytes, for callers that read them
	n     int64
}

// longestForm is no shorter than any form of a canary.
const longestForm = 128

// keepFirst is how much of a program's output is kept.
const keepFirst = 16 << 10

func (w *scanner) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.first = append(w.first, b[:min(len(b), keepFirst-len(w.first))]...)
	w.n += int64(len(b))
	text := append(w.tail, b...)
	w.c.scan(w.where, text)
	w.tail = append([]byte(nil), text[max(0, len(text)-longestForm):]...)
	return len(b), nil
}

func (w *scanner) head() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return string(w.first)
}

// scanFiles reads trace files. Their writers were killed, so they may end anywhere. podstep replay says so, and shows
// what they have.
func (s *soak) scanFiles(glob string) {
	files, err := filepath.Glob(glob)
	if err != nil {
		s.errorf("list trace files: %v", err)
	}
	events := uint64(0)
	for _, file := range files {
		found, n, err := values.FindTrace(file)
		events += n
		for _, f := range found {
			s.seen.canaries.add("a trace file", f)
		}
		if err == nil {
			continue
		}
		out, _ := s.command("replay", file, "-o", "json").CombinedOutput()
		if printed := string(out); !strings.Contains(printed, "podstep: ") || crashed(printed) {
			s.errorf("a trace file whose writer was killed cannot be read: %v: %s", err, printed[max(0, len(printed)-1000):])
		}
	}
	s.counts.add("trace files read", len(files))
	s.counts.add("events in trace files", int(events))
	if len(files) > 0 && events == 0 {
		s.errorf("%d trace files have no event", len(files))
	}
}

func crashed(printed string) bool {
	return strings.Contains(printed, "panic: ") || strings.Contains(printed, "fatal error: ")
}

func (c *canaries) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var b strings.Builder
	for _, where := range sorted(c.looked) {
		fmt.Fprintf(&b, "  %-40s %d KiB\n", where, c.looked[where]>>10)
	}
	for _, what := range sorted(c.found) {
		fmt.Fprintf(&b, "  FOUND %d times: %s\n", c.found[what], what)
	}
	return b.String()
}
