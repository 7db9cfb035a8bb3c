package columns

import (
	"maps"
	"slices"
	"time"

	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
)

// Place is one of the places that have something of a pod.
type Place int

// The places, in the order of the columns.
const (
	API Place = iota
	Kubelet
	Runtime
	Disk
	places
)

// Places are all of them.
var Places = []Place{API, Kubelet, Runtime, Disk}

// titles of the columns.
var titles = [places]probes.Text{
	words.Text("kubectl shows", "kubectl 显示"), words.Text("the kubelet has", "kubelet 里有"),
	words.Text("the runtime runs", "运行时在跑"), words.Text("the disk says", "磁盘上记着"),
}

// names of the places where there is little room.
var names = [places]probes.Text{words.Same("kubectl"), words.Same("kubelet"), words.Text("runtime", "运行时"), words.Text("disk", "磁盘")}

// ids are the places' names for scripts.
var ids = [places]string{"api", "kubelet", "runtime", "disk"}

// Title returns the title of a place's column.
func (p Place) Title() probes.Text { return titles[p] }

// Short returns a place's name where there is little room.
func (p Place) Short() probes.Text { return names[p] }

// String returns the place's name for scripts.
func (p Place) String() string { return ids[p] }

// Table is what the places have of a pod.
type Table struct {
	Rows  []Row
	Taken time.Time
	// Seen are the places that were asked, and answered.
	Seen [places]bool
	// StatusUnknown reports that the status that the kubelet itself has is not known. Its rows have what the other places say.
	StatusUnknown bool
}

// Row is one thing that more than one place may have of a pod.
type Row struct {
	// Container is the container that the row is about; empty: it is about the pod.
	Container string
	What      probes.Text
	Cells     [places]Cell
	// Differs reports that two places, or two parts of one, do not say the same. They have differed since Since, when the last of
	// them came to what it says; zero: that is not known.
	Differs bool
	Since   time.Time
	news    time.Time // the last of the places that differ had news then; zero: not known
}

// Cell is what one place has. Its Text is empty if the place has no such thing, or was not seen.
type Cell struct {
	Text probes.Text
	// Since is when it became so; zero: not known.
	Since time.Time
	// values are what can be compared with other places, by name. A place that has none is not compared.
	values map[string]string
	// news is when the place last had news about it, though it may have been so before; zero: not known.
	news time.Time
	// Unknown: the place may have something, and does not show it.
	Unknown bool
	// torn: the place itself says two things.
	torn bool
}

// Compared reports whether the cell says something that can be compared.
func (c *Cell) Compared() bool { return len(c.values) > 0 }

// Of lays out a snapshot of a pod; nil: there is no pod in it.
func Of(s *evidence.Snapshot) *Table {
	if s.Name.Kind != "" || s.Pod == nil && s.KubeletPod == nil && s.Runtime == nil {
		return nil
	}
	l := &layout{s: s, Table: Table{Taken: s.Taken}}
	l.Seen = [places]bool{
		API: s.Pod != nil || l.answered(evidence.API), Kubelet: s.Kubelet != nil && s.Kubelet.HasPod != nil,
		Runtime: s.Runtime != nil, Disk: s.Machine != nil && s.Machine.Checkpoints != nil,
	}
	l.StatusUnknown = l.Seen[Kubelet] && l.status(Kubelet) == nil
	l.pod()
	l.containers()
	for i := range l.Rows {
		l.Rows[i].compare()
	}
	return &l.Table
}

// compare finds out whether the places differ.
func (r *Row) compare() {
	var apart []Place
	for _, name := range r.valueNames() {
		var at []Place
		distinct := map[string]bool{}
		for _, p := range Places {
			if v, ok := r.Cells[p].values[name]; ok {
				at, distinct[v] = append(at, p), true
			}
		}
		if len(distinct) > 1 {
			apart = append(apart, at...)
		}
	}
	for _, p := range Places {
		if r.Cells[p].torn {
			apart = append(apart, p)
		}
	}
	r.Differs = len(apart) > 0
	for _, p := range apart {
		if since := r.Cells[p].Since; since.After(r.Since) {
			r.Since = since
		}
		if news := r.Cells[p].news; news.After(r.news) {
			r.news = news
		}
	}
}

func (r *Row) valueNames() []string {
	all := map[string]bool{}
	for _, c := range r.Cells {
		for name := range c.values {
			all[name] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// soon is how long two places may differ because news is on its way: the places are not asked at the same moment, the kubelet looks
// at the runtime once a second, and one goroutine of it sends the statuses of all pods. On a busy node that takes seconds.
const soon = 10 * time.Second

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// Differing returns the rows in which the places differ for longer than news takes from one to the other.
func (t *Table) Differing() (out []Row) {
	if t == nil {
		return nil
	}
	for _, r := range t.Rows {
		if r.Differs && t.Taken.Sub(latest(r.Since, r.news)) >= soon {
			out = append(out, r)
		}
	}
	return out
}

// Heading stands above the rows in which places differ.
var Heading = words.Text("What differs:", "不一致的地方：")

// Name names a row.
func (r *Row) Name(l words.Lang) string {
	if r.Container == "" {
		return l.In(r.What)
	}
	return words.OneLine(r.Container) + " " + l.In(r.What)
}

// Apart says that the places of a row differ, and for how long at a time; empty: they do not differ.
func (r *Row) Apart(l words.Lang, now time.Time) string {
	switch {
	case !r.Differs:
		return ""
	case r.Since.IsZero():
		return l.In(words.Text("differs", "不一致"))
	}
	return l.Inf(words.Text("differs for %s", "不一致已 %s"), words.Took(max(0, now.Sub(r.Since))))
}

// In returns what a cell says at a time, with how long it has been so.
func (c *Cell) In(l words.Lang, now time.Time) string {
	text := words.OneLine(l.In(c.Text))
	if text == "" || c.Since.IsZero() {
		return text
	}
	return text + ", " + words.Took(max(0, now.Sub(c.Since)))
}
