package logstory

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/podstep/podstep/agent/wire"
)

// printer prints the calls of a live story as print does those of a recorded one.
type printer struct {
	lines []string
}

func (p *printer) Begin(c *Call, at time.Time, fields []wire.Field) {
	c.State = len(p.lines)
	p.lines = append(p.lines, line("enter", c, at, fields, ""))
}

func (p *printer) End(c *Call, at time.Time, results []wire.Field, err string) {
	p.lines = append(p.lines, line("exit", c, at, results, err))
}

func line(kind string, c *Call, at time.Time, fields []wire.Field, err string) string {
	up := ""
	if c.Parent != nil {
		up = c.Parent.Step.Name
	}
	return fmt.Sprintf("%s %s %s %s in %q %v %q", at.UTC().Format(time.StampMicro), kind, c.Pod.Name, c.Step.Name, up, fields, err)
}

// callsOf returns the calls of a recorded story, printed.
func callsOf(t *testing.T, names ...string) []string {
	t.Helper()
	s, err := Open(names, recorded)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	p := &printer{}
	s.reporter.sink = passOn{p}
	for err == nil {
		_, err = s.Next()
	}
	return p.lines
}

// passOn gives calls of a recorded story to a printer.
type passOn struct{ *printer }

func (p passOn) begin(c *Call, at time.Time, fields []wire.Field) { p.Begin(c, at, fields) }
func (p passOn) end(c *Call, at time.Time, results []wire.Field, err string, _ time.Duration) {
	p.End(c, at, results, err)
}

// play writes lines of logs to a Live at the times that they state, and calls each with every turn.
func play(t *testing.T, l *Live, names map[string]string, each func()) {
	t.Helper()
	type piece struct {
		log, text string
		at        time.Time
	}
	var all []piece
	for log, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		at, read := time.Time{}, newReader(nil, &clock{recorded.Near})
		for line := range strings.Lines(string(text)) {
			line = strings.TrimRight(line, "\n")
			if e, ok := read.parse(line); ok {
				at = e.at
			}
			all = append(all, piece{log, line, at})
		}
	}
	slices.SortStableFunc(all, func(a, b piece) int { return a.at.Compare(b.at) })
	now := all[0].at
	for _, p := range all {
		for now.Before(p.at) {
			now = now.Add(100 * time.Millisecond)
			l.Turn(now)
			each()
		}
		l.Add(p.log, p.text, time.UTC, now)
	}
	for range 10 {
		now = now.Add(100 * time.Millisecond)
		l.Turn(now)
		each()
	}
}

// TestLive checks that logs tell the same while they are written as afterwards.
func TestLive(t *testing.T) {
	for name, v := range map[string]int{"v4": 4, "v2": 2} {
		want := callsOf(t, "testdata/"+name+".log", "testdata/"+name+"-containerd.log")
		p := &printer{}
		play(t, NewLive(time.Time{}, v, nothing{}, p), map[string]string{"kubelet": "testdata/" + name + ".log", "runtime": "testdata/" + name + "-containerd.log"}, func() {})
		slices.Sort(want) // entries of one log are not quite in order of time
		slices.Sort(p.lines)
		for i := range max(len(want), len(p.lines)) {
			if i >= len(want) || i >= len(p.lines) || want[i] != p.lines[i] {
				t.Errorf("%s: from call %d of %d and %d on:\n%s\nafterwards:\n%s", name, i, len(p.lines), len(want), at(p.lines, i), at(want, i))
				break
			}
		}
	}
}

func at(lines []string, i int) string {
	return strings.Join(lines[min(i, len(lines)):min(i+4, len(lines))], "\n")
}

// TestLiveLater checks that a story that begins in the middle has no call twice, and no begin from before.
func TestLiveLater(t *testing.T) {
	all := callsOf(t, "testdata/v4.log", "testdata/v4-containerd.log")
	since, err := time.Parse(time.StampMicro, all[len(all)/2][:len(time.StampMicro)])
	if err != nil {
		t.Fatal(err)
	}
	since = time.Date(recorded.Near.Year(), since.Month(), since.Day(), since.Hour(), since.Minute(), since.Second(), since.Nanosecond(), time.UTC)
	p := &printer{}
	play(t, NewLive(since, 4, nothing{}, p), map[string]string{"kubelet": "testdata/v4.log", "runtime": "testdata/v4-containerd.log"}, func() {})
	if len(p.lines) < len(all)/3 || len(p.lines) >= len(all) {
		t.Errorf("%d of %d", len(p.lines), len(all))
	}
	for _, l := range p.lines {
		if l[:len(time.StampMicro)] < all[len(all)/2][:len(time.StampMicro)] {
			t.Errorf("from before: %s", l)
		}
	}
}

// TestLiveBounds checks that pods are forgotten of which nothing is written any more.
func TestLiveBounds(t *testing.T) {
	l := NewLive(time.Time{}, 4, nothing{}, &printer{})
	play(t, l, map[string]string{"kubelet": "testdata/v4.log", "runtime": "testdata/v4-containerd.log"}, func() {})
	if len(l.reporter.pods.byUID) == 0 {
		t.Fatal("there was no pod")
	}
	l.Gone(time.Now())
	l.Turn(recorded.Near.Add(24 * time.Hour))
	if n := len(l.reporter.pods.byUID) + len(l.reporter.pods.byCRI) + len(l.survey.names) + len(l.survey.fullNames); n != 0 {
		t.Errorf("%d things are remembered after a day: %v", n, l.survey.names)
	}
}
