package state

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/screen"
)

// stream makes events from bytes: in any order, with any numbers.
func stream(in []byte) *agentpb.Batch {
	return streamOf(in, []string{"workType", "updateType", "op", "phase", "conditions", "container", "delay", "lease", "containersToStart", "request"})
}

// streamOf is stream with fields of these names.
func streamOf(in []byte, names []string) *agentpb.Batch {
	b := &agentpb.Batch{}
	texts := []string{"sync", "terminating", "terminated", "create", "DELETE", "a\x1b[31mb", "\u202eabc", "x\ny", "{}", `{"Ready":"True"}`, "Running", "waiting", "ImagePullBackOff", "True", "Ready"}
	for seq := uint64(1); len(in) >= 12; seq++ {
		e := &agentpb.Event{
			Seq: seq, Kind: agentpb.Kind(in[0] % 9), Step: uint32(in[1]), Pod: uint32(in[2] % 6), Span: uint64(in[3] % 64),
			Parent: uint64(in[4] % 64), Sync: uint32(in[5] % 8), Goroutine: uint32(in[6] % 40), Mono: int64(int8(in[7])) * 1e6 * int64(seq),
			Time: int64(seq) * 1e6, Duration: int64(int8(in[8])),
		}
		if in[8] == 0x7f {
			e.Seq, e.Span, e.Mono = 1<<63, 1<<63+uint64(in[3]), -1<<63
		}
		f := &agentpb.Field{Name: names[int(in[9])%len(names)]}
		text := texts[int(in[10])%len(texts)]
		switch in[11] % 5 {
		case 0:
			f.Value = &agentpb.Field_Text{Text: text}
		case 1:
			f.Value = &agentpb.Field_Json{Json: text}
		case 2:
			f.Value = &agentpb.Field_Duration{Duration: int64(in[10]) << 40}
		case 3:
			f.Value = &agentpb.Field_Flag{Flag: in[10]%2 == 0}
		case 4:
			e.Error = text
		}
		e.Fields = []*agentpb.Field{f}
		raw, err := proto.MarshalOptions{AllowPartial: true}.Marshal(e)
		if err != nil || in[11] == 0xff {
			raw = in[:12]
		}
		b.Events = append(b.Events, raw)
		in = in[12:]
	}
	return b
}

func FuzzState(f *testing.F) {
	r := record(f)
	f.Add([]byte{0, 1, 2, 3}, uint8(0))
	for _, k := range []int{1, 40, 400} {
		f.Add(compact(r, k), uint8(k))
	}
	f.Fuzz(func(t *testing.T, in []byte, keys uint8) {
		if len(in) > 20_000 {
			return
		}
		lang := words.English
		if keys%2 == 1 {
			lang = words.Chinese
		}
		s := New(r.info, probes.MustLoad(), lang)
		s.SetLimit(1 << 16)
		b := stream(in)
		b.Pods = []*agentpb.Pod{{Id: 1, Namespace: "n\x07s", Name: "a", Uid: "u"}, {Id: 2, Name: "b"}}
		half := len(b.Events) / 2
		s.Add(&agentpb.Batch{Pods: b.Pods, Events: b.Events[:half]})
		use(t, s, keys)
		if keys > 128 {
			s.SetInfo(&agentpb.InfoResponse{Pid: 7, Steps: r.info.Steps[:10]})
		}
		s.Add(&agentpb.Batch{Events: b.Events[half:]})
		use(t, s, keys+1)
	})
}

// FuzzAttached is FuzzState for an agent that is attached to a kubelet.
func FuzzAttached(f *testing.F) {
	r := attached(f)
	for _, k := range []int{1, 40, 400} {
		f.Add(compact(r, k), uint8(k))
	}
	names := []string{"phase", "type", "status", "reason", "state", "container", "containers", "containerID", "from", "since", "known", "exitCode", "restartCount", "ready", "timeout", "grace"}
	f.Fuzz(func(t *testing.T, in []byte, keys uint8) {
		if len(in) > 20_000 {
			return
		}
		s := New(r.info, probes.MustLoad(), words.English)
		s.SetLimit(1 << 16)
		s.Add(&agentpb.Batch{Pods: []*agentpb.Pod{{Id: 1, Namespace: "n", Name: "a", Uid: "u"}}})
		s.Add(streamOf(in, names))
		use(t, s, keys)
		use(t, s, keys+1)
	})
}

// compact returns bytes from which stream makes something like the recording.
func compact(r *recording, batches int) (out []byte) {
	for _, b := range r.batches[:min(batches, len(r.batches))] {
		for _, raw := range b.Events {
			var e agentpb.Event
			if proto.Unmarshal(raw, &e) == nil {
				out = append(out, byte(e.Kind), byte(e.Step), byte(e.Pod), byte(e.Span), byte(e.Parent), byte(e.Sync), byte(e.Goroutine), byte(e.Seq), 0, 0, byte(e.Span), 0)
			}
		}
	}
	return out
}

// use does what a reader does, and checks each screen.
func use(t *testing.T, s *State, keys uint8) {
	s.Tick(time.Unix(0, int64(keys)*1e9))
	do := []func(){
		func() { s.Move(1) }, func() { s.Move(-3) }, s.Open, func() { s.Back() }, s.NextPane, s.Home, s.End, s.ToggleFollow,
		func() { s.SetMain(screen.Main(keys % 4)) }, s.ToggleFreeze, func() { s.StepBack() }, func() { s.NextError(1) },
		func() { s.SelectPod(screen.PodKey(keys % 7)) }, func() { s.SelectStep("sync.volumes") }, func() { s.SeekTime(time.Duration(keys) * time.Second) },
		func() { _ = s.SetFilter("err or step~sync.*") }, func() { s.ZoomTime(0.5) }, func() { s.Sideways(1) }, s.ToggleMany, func() { s.StepForward() },
		func() { s.SeekEvent(int(keys)) }, func() { _ = s.SetFilter("") }, func() { s.NextError(-1) },
	}
	for i := range do {
		do[(i*int(keys|1)+int(keys))%len(do)]()
		z := screen.Sizes{Pods: int(keys % 9), Main: int(keys%13) + i, Detail: 5, Width: 60}
		check(t, s.Screen(z), z)
	}
}

// check checks what must be true of every screen.
func check(t *testing.T, sc *screen.Screen, z screen.Sizes) {
	t.Helper()
	rows := z.Main
	safe(t, reflect.ValueOf(*sc), "Screen")
	within(t, "pods", sc.Pods.Top, len(sc.Pods.Rows), sc.Pods.Total, sc.Pods.Cursor)
	if st := sc.Story(); st != nil {
		within(t, "story", st.Top, len(st.Rows), st.Total, st.Cursor)
		if len(st.Rows) < min(rows, st.Total) {
			t.Fatalf("story: %d of %d rows in %d", len(st.Rows), st.Total, rows)
		}
		ids := map[string]bool{}
		for i, r := range st.Rows {
			if ids[r.ID] {
				t.Fatalf("row %q is there twice", r.ID)
			}
			ids[r.ID] = true
			if r.Cursor != (i == st.Cursor) || r.Depth < 0 || r.Took < 0 || r.Left < 0 || st.Newer < 0 {
				t.Fatalf("row %+v of %+v", r, st)
			}
			if r.Label == "" {
				t.Fatalf("row without a label: %+v", r)
			}
		}
	}
	if l := sc.Timeline(); l != nil {
		within(t, "timeline", l.Top, len(l.Bars), l.Total, l.Cursor)
		if len(l.Bars) < min(rows, l.Total) {
			t.Fatalf("timeline: %d bars of %d fit into %d rows", len(l.Bars), l.Total, rows)
		}
		for _, b := range l.Bars {
			if b.To < b.From {
				t.Fatalf("bar %+v", b)
			}
		}
		if l.To < l.From {
			t.Fatalf("timeline from %v to %v", l.From, l.To)
		}
	}
	if l := sc.Events(); l != nil {
		within(t, "events", l.Top, len(l.Rows), l.Total, l.Cursor)
		if len(l.Rows) < min(rows, l.Total) {
			t.Fatalf("events: %d of %d rows in %d", len(l.Rows), l.Total, rows)
		}
	}
	if d := sc.Detail; d != nil && len(d.Source) > 0 && (d.Mark < -1 || d.Mark >= len(d.Source)) {
		t.Fatalf("line %d of %d", d.Mark, len(d.Source))
	}
}

func within(t *testing.T, what string, top, rows, total, cursor int) {
	t.Helper()
	if top < 0 || top+rows > total && rows > 0 || cursor < -1 || cursor >= rows && cursor != -1 {
		t.Fatalf("%s: %d rows from %d of %d, cursor %d", what, rows, top, total, cursor)
	}
}

// safe makes sure that no text of a screen can act on a terminal.
func safe(t *testing.T, v reflect.Value, where string) {
	switch v.Kind() {
	case reflect.String:
		for _, r := range v.String() {
			if words.Unsafe(r) && r != '\n' {
				t.Fatalf("%s has %q", where, v.String())
			}
		}
	case reflect.Pointer:
		if !v.IsNil() && v.Type() != reflect.TypeFor[*time.Location]() {
			safe(t, v.Elem(), where)
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return
		}
		for i := range v.NumField() {
			safe(t, v.Field(i), where+"."+v.Type().Field(i).Name)
		}
	case reflect.Slice:
		for i := range v.Len() {
			safe(t, v.Index(i), fmt.Sprintf("%s[%d]", where, i))
		}
	}
}
