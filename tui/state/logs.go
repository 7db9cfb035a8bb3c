package state

import (
	"cmp"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/reason"
	"github.com/podstep/podstep/agent/story/history"
	"github.com/podstep/podstep/agent/story/outline"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/screen"
)

// shownLogs is how many of the last values of a step the detail shows. notesPerFrame bounds the notes of a pod among which one
// look searches for them.
const shownLogs, notesPerFrame = 5, 1000

// pointAtStep says what the present breakpoints do at a step of a pod.
func (s *State) pointAtStep(p *pod, step string) (out screen.Point) {
	for _, b := range s.breaks {
		if slices.Contains(b.GetSteps(), step) && mayMean(b.GetSpec().GetPods(), &p.Entity) {
			addPoint(&out, b)
		}
	}
	return out
}

// PointAt says what the present breakpoints do at a line of the kubelet's source, and what was logged there of the selected
// pod last.
func (s *State) PointAt(file string, line int) screen.Point { return s.pointAt(s.view(), file, line) }

func (s *State) pointAt(v *view, file string, line int) (out screen.Point) {
	for _, b := range s.breaks {
		if isAt(b, file, line) {
			addPoint(&out, b)
			out.Last = cmp.Or(out.Last, s.lastLogged(v, func(n *logNote) bool { return n.breakpoint == int64(b.GetId()) }))
		}
	}
	return out
}

// addPoint adds what a breakpoint does.
func addPoint(p *screen.Point, b *agentpb.Breakpoint) {
	if b.GetSpec().GetLog() != nil {
		p.Logs = true
		return
	}
	p.Acts = true
}

// isAt reports whether a breakpoint is at a line of a file.
func isAt(b *agentpb.Breakpoint, file string, line int) bool {
	return slices.ContainsFunc(b.GetPlaces(), func(f *agentpb.StackFrame) bool {
		return int(f.GetLine()) == line && path.Base(f.GetFile()) == path.Base(file) && strings.HasSuffix("/"+f.GetFile(), "/"+file)
	})
}

// mayMean reports whether a selector may mean a pod. The screen does not know the labels of pods.
func mayMean(sel *agentpb.PodSelector, pod *probes.Pod) bool {
	return (sel.GetUid() == "" || sel.GetUid() == pod.UID) && sel.Selects(pod.Namespace, pod.Name)
}

// pointsOf fills in what breakpoints do at the lines of a step's source, and what they have logged of the step.
func (s *State) pointsOf(id history.StepID, v *view, d *screen.Detail) {
	d.Logs = s.logsOf(id, v)
	file, _, ok := strings.Cut(d.Place, ":")
	if !ok || len(d.Source) == 0 {
		return
	}
	put := func(line int, p screen.Point) {
		if p != (screen.Point{}) {
			if d.Points == nil {
				d.Points = map[int]screen.Point{}
			}
			d.Points[line] = p
		}
	}
	if s.h.Epoch().Info.GetKubeletVersion() == probes.KubernetesVersion {
		for i := range d.Source {
			put(d.First+i, s.pointAt(v, file, d.First+i))
		}
	}
	if d.Mark < 0 {
		return
	}
	// The line that calls the step has the step's own breakpoints, too.
	p, step := d.Points[d.First+d.Mark], s.pointAtStep(s.podAt(s.pod), s.h.Step(id).Name)
	p.Acts, p.Logs = p.Acts || step.Acts, p.Logs || step.Logs
	if step.Logs && p.Last == "" {
		p.Last = s.lastLogged(v, func(n *logNote) bool { return n.step == id && !n.inside })
	}
	put(d.First+d.Mark, p)
}

// logNote is a note with logged values of the selected pod.
type logNote struct {
	pos        int
	step       history.StepID
	breakpoint int64
	inside     bool // a breakpoint at a line of the code made it
}

// eachLog calls take with the notes that logs have made in the story of the selected pod, the newest first, until take returns
// false.
func (s *State) eachLog(v *view, take func(*logNote) bool) {
	p := s.podAt(s.pod)
	end := min(p.Notes.End(), p.Notes.First+s.notesBefore(p, v.at))
	for i := end - 1; i >= max(p.Notes.First, end-notesPerFrame); i-- {
		note := p.Notes.At(i)
		if raw := s.h.Raw(note.Pos); note.Kind == agentpb.Kind_NOTE && string(wire.Lookup(raw, "note").Text) == agentpb.NoteLog {
			n := logNote{pos: note.Pos}
			n.breakpoint, _ = wire.Lookup(raw, "breakpoint").Number()
			if sp := s.h.Span(note.Span); sp != nil {
				n.step = sp.Step
			}
			n.inside = s.h.EpochAt(note.Pos) == s.h.Epoch() && slices.ContainsFunc(s.breaks, func(b *agentpb.Breakpoint) bool {
				return int64(b.GetId()) == n.breakpoint && b.GetSpec().GetAt() != ""
			})
			if !take(&n) {
				return
			}
		}
	}
}

// notesBefore returns how many notes of a pod that are kept there were before a position.
func (s *State) notesBefore(p *pod, at int) int {
	n, _ := slices.BinarySearchFunc(p.Notes.All, at, func(n outline.Note, at int) int { return cmp.Compare(n.Pos, at) })
	return n
}

// lastLogged returns the values of the newest note that suits, with their time; empty: there is none.
func (s *State) lastLogged(v *view, suits func(*logNote) bool) (text string) {
	s.eachLog(v, func(n *logNote) bool {
		if s.h.EpochAt(n.pos) != s.h.Epoch() || !suits(n) {
			return true
		}
		if e, ok := s.h.Event(n.pos); ok {
			text = clockOf(&e) + "  " + s.loggedText(&e)
		}
		return false
	})
	return text
}

// logsOf returns the last values that were logged of a step.
func (s *State) logsOf(id history.StepID, v *view) (out []screen.Value) {
	s.eachLog(v, func(n *logNote) bool {
		if e, ok := s.h.Event(n.pos); ok && n.step == id {
			out = append(out, screen.Value{Name: clockOf(&e) + " #" + strconv.FormatInt(n.breakpoint, 10), Text: s.loggedText(&e)})
		}
		return len(out) < shownLogs
	})
	return out
}

func clockOf(e *probes.Event) string { return e.Time.Local().Format("15:04:05.000") }

// loggedText returns what a note of a log has: the values, and the call's duration and error if it has ended.
func (s *State) loggedText(e *probes.Event) string {
	var parts []string
	if values := reason.Logged(e.Fields); values != "" {
		parts = append(parts, values)
	}
	if e.DurationNs > 0 {
		parts = append(parts, "took="+words.Took(time.Duration(e.DurationNs)))
	}
	if e.Error != "" {
		parts = append(parts, "err="+words.OneLine(e.Error))
	}
	if len(parts) == 0 {
		return s.lang.In(words.Text("came here; no values are known", "到达此处；没有已知的值"))
	}
	return strings.Join(parts, ", ")
}

// countedBy says how often a log has logged, and how often a breakpoint had no room.
func (s *State) countedBy(b *agentpb.Breakpoint) string {
	missed := strconv.Itoa(int(b.GetMissed()))
	switch {
	case b.GetSpec().GetLog() != nil && b.GetMissed() > 0:
		return s.lang.Inf(words.Text("logged %d, dropped %s: too many came in a second", "已记录 %d 次，丢弃 %s 次：一秒内来得太多"), b.GetHits(), missed)
	case b.GetSpec().GetLog() != nil:
		return s.lang.Inf(words.Text("logged %d, dropped none", "已记录 %d 次，没有丢弃"), b.GetHits())
	case b.GetMissed() > 0:
		return s.lang.Inf(words.Text("let %s pass: there was no room for more", "放过了 %s 次：没有余地"), missed)
	}
	return ""
}
