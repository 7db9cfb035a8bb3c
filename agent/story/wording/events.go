package wording

import (
	"maps"
	"slices"
	"strings"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/reason"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
)

// Event returns the label and the note of an event that is no call: a hold, a release, a fault, a loss, a note of the
// agent.
func Event(l words.Lang, e *probes.Event) (label, note string) {
	word := func(name string) string { return words.Short(e.Fields[name]) }
	switch e.Kind {
	case probes.Held:
		return l.In(words.Text("held", "停住")), beforeOrAfter(l, word("on"), word("line"))
	case probes.Released:
		return l.In(words.Text("was held", "曾停住")), beforeOrAfter(l, word("on"), word("line")) + whyReleased(l, e)
	case probes.Fault:
		if d, ok := e.Fields["delay"]; ok {
			return l.In(words.Text("podstep delayed it", "podstep 延迟了它")), words.Short(d)
		}
		return l.In(words.Text("podstep made it fail", "podstep 让它失败")), ""
	case probes.Drop:
		return l.In(words.Text("events were lost here", "此处有事件丢失")), Fields(e.Fields)
	}
	if state, why, is := e.ProbeState(); is {
		return words.Short(l.In(reason.Probe(e.Probe, state, why))), ""
	}
	if _, is := e.Sight(); is {
		return words.Short(l.In(reason.Sight(e.Probe))), Fields(e.Fields)
	}
	if text := words.Short(l.In(reason.Note(e.Fields))); text != "" {
		return text, ""
	}
	if n := word("foldedSyncs"); n != "" {
		return l.Inf(words.Text("%s earlier syncs are no longer known", "更早的 %s 次同步已不可知"), n), word("foldedEvents")
	}
	return l.In(words.Text("note", "说明")), Fields(e.Fields)
}

// beforeOrAfter returns where in a call a pod was held: before it, after it, or at a line of it.
func beforeOrAfter(l words.Lang, on, line string) string {
	switch on {
	case "exit":
		return l.In(words.Text("after it", "在它之后"))
	case agentpb.Inside:
		return l.Inf(words.Text("inside it, at %s", "在它之中，%s"), line)
	}
	return l.In(words.Text("before it", "在它之前"))
}

// maxFields bounds all fields in one line, maxField one value, in columns.
const maxFields, maxField = 600, 200

// Fields returns all fields of an event in one line, by name: name=value.
func Fields(fields map[string]any) string {
	if len(fields) == 0 {
		return ""
	}
	var b strings.Builder
	for _, n := range sorted(fields) {
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(words.Clean(n))
		b.WriteByte('=')
		b.WriteString(words.Cut(words.Short(fields[n]), maxField))
		if b.Len() > maxFields {
			break
		}
	}
	return b.String()
}

func sorted(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }

// whyReleased returns why a pod went on by itself.
func whyReleased(l words.Lang, e *probes.Event) string {
	switch e.Fields["reason"] {
	case nil, agentpb.ReleaseContinue, agentpb.ReleaseStep:
		return ""
	}
	return l.Inf(words.Text("; %s", "；%s"), words.Short(l.In(reason.Released(e.Fields))))
}
