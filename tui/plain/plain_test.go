package plain

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/wire/eventtest"
	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/session"
)

// tape is a session that delivers the news it was given, and then nothing.
type tape struct {
	news  chan session.News
	file  string
	calls []string
	held  []*agentpb.HoldInfo
}

func (s *tape) Next(ctx context.Context) (session.News, error) {
	select {
	case n := <-s.news:
		return n, nil
	case <-ctx.Done():
		return session.News{}, ctx.Err()
	}
}

func (s *tape) File() string { return s.file }
func (s *tape) Close()       {}

func (s *tape) WatchClosely(string) {}

func (s *tape) Control() session.Control {
	if s.file != "" {
		return nil
	}
	return control{tape: s}
}

// control is the control that the commands act through.
type control struct {
	session.Control
	*tape
}

func (s control) Hold(_ context.Context, r *agentpb.HoldRequest) (*agentpb.HoldInfo, error) {
	s.calls = append(s.calls, "hold "+r.Pods.Namespace+"/"+r.Pods.Name)
	if r.Pods.Name == "gone" {
		return nil, errors.New("no pod gone")
	}
	h := &agentpb.HoldInfo{Id: 1, Pod: web, Step: "sync.pod", On: "enter"}
	s.held = []*agentpb.HoldInfo{h}
	return h, nil
}

func (s control) Continue(_ context.Context, r *agentpb.ContinueRequest) ([]*agentpb.HoldInfo, error) {
	s.calls = append(s.calls, "continue "+r.Pods.GetUid())
	let := s.held
	s.held = nil
	return let, nil
}

func (s control) Poll()                                                      {}
func (s control) Holds(context.Context) ([]*agentpb.HoldInfo, error)         { return s.held, nil }
func (s control) Breakpoints(context.Context) ([]*agentpb.Breakpoint, error) { return nil, nil }

var web = &agentpb.Pod{Id: 1, Namespace: "default", Name: "w\x1beb", Uid: "u1"}

// lines lets a test wait for lines that are printed.
type lines struct {
	t    *testing.T
	all  *bytes.Buffer
	pipe *io.PipeReader
	rest string
}

func (l *lines) until(want string) {
	l.t.Helper()
	for !strings.Contains(l.rest, want) {
		b := make([]byte, 4096)
		n, err := l.pipe.Read(b)
		if err != nil {
			l.t.Fatalf("%q was never printed:\n%s", want, l.all)
		}
		l.all.Write(b[:n])
		l.rest += string(b[:n])
	}
	_, l.rest, _ = strings.Cut(l.rest, want)
}

func TestPlain(t *testing.T) {
	s := &tape{news: make(chan session.News, 8)}
	info := &agentpb.InfoResponse{Node: "node-1", KubeletVersion: "v1.36.3", Probes: []*agentpb.Probe{{Name: "woven"}}, Goroutines: []string{""},
		Steps: []*agentpb.Step{{Name: "sync.pod", Stage: "syncpod"}, {Name: "sync.volumes", Stage: "syncpod"}}}
	old := eventtest.Encode(&agentpb.Event{Seq: 1, Kind: agentpb.Kind_EXIT, Step: 1, Pod: 1, Error: "of before"})
	s.news <- session.News{Info: info, CaughtUp: true, Batches: []*agentpb.Batch{{Pods: []*agentpb.Pod{web}, Events: [][]byte{old}}},
		Poll: &session.Poll{Pods: []*agentpb.PodState{{Pod: web, State: "waiting", Step: "sync.pod"}}}}
	in, type_ := io.Pipe()
	read, out := io.Pipe()
	ended := make(chan error)
	go func() {
		ended <- Run(t.Context(), s, Options{Lang: words.English, Because: "TERM=dumb", In: in, Out: out})
		out.Close()
	}()
	l := &lines{t: t, all: &bytes.Buffer{}, pipe: read}
	enter := func(line string) { io.WriteString(type_, line+"\n") }
	l.until("podstep: plain lines (TERM=dumb)\n")
	l.until("Agent: node node-1, kubelet v1.36.3, seen by probe woven\n")
	l.until(`Pod default/w\x1beb: `) // its state, and a sentence
	l.until("10 quit: end, and let the held pods go on\n")
	s.news <- session.News{Batches: []*agentpb.Batch{eventtest.Batch(
		&agentpb.Event{Seq: 2, Kind: agentpb.Kind_EXIT, Step: 2, Pod: 1, Duration: 3_200_000_000, Error: "no\x1b[31mvolume"},
		&agentpb.Event{Seq: 3, Kind: agentpb.Kind_EXIT, Step: 1, Pod: 1, Duration: 5_000_000},
	)}}
	l.until(`Pod default/w\x1beb: step sync.volumes (`)
	l.until(`) failed after 3.20 s: no\x1b[31mvolume` + "\n")
	l.until(`Pod default/w\x1beb: step sync.pod (`)
	l.until("done after 5.0 ms\n")
	enter("2 default/gone")
	l.until("Error: no pod gone\n")
	enter("hold default/web")
	l.until("held at enter of sync.pod")
	enter("quit")
	l.until(`Pod default/w\x1beb: goes on` + "\n")
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if got := strings.Join(s.calls, ", "); got != "hold default/gone, hold default/web, continue u1" {
		t.Errorf("calls: %s", got)
	}
	if text := l.all.String(); strings.Contains(text, "of before") || strings.ContainsAny(text, "\x1b│─▸●") {
		t.Errorf("history, drawings or control characters are printed:\n%s", text)
	}
}

// TestPlainAnotherAgent: the next agent's list has none of a former agent's pods.
func TestPlainAnotherAgent(t *testing.T) {
	s := &tape{news: make(chan session.News, 8)}
	in, typed := io.Pipe()
	read, out := io.Pipe()
	ended := make(chan error)
	go func() {
		ended <- Run(t.Context(), s, Options{Lang: words.English, Because: "--plain", In: in, Out: out})
		out.Close()
	}()
	l := &lines{t: t, all: &bytes.Buffer{}, pipe: read}
	s.news <- session.News{Info: &agentpb.InfoResponse{Node: "former"}, CaughtUp: true,
		Poll: &session.Poll{Pods: []*agentpb.PodState{{Pod: web, State: "working", Step: "sync.pod", Since: timestamppb.Now()}}}}
	l.until(`Pod default/w\x1beb: working for `)
	l.until("10 quit: end, and let the held pods go on\n")
	s.news <- session.News{Info: &agentpb.InfoResponse{Node: "other"}, CaughtUp: true}
	l.until("Agent: node other")
	io.WriteString(typed, "pods\n")
	l.until("Pods: not known yet\n")
	s.news <- session.News{Poll: &session.Poll{}}
	l.until("Pods: none on this node\n")
	io.WriteString(typed, "quit\n")
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestPlainFile: a trace file is printed, and printing ends with it.
func TestPlainFile(t *testing.T) {
	s := &tape{news: make(chan session.News, 8), file: "x.podstep"}
	s.news <- session.News{Info: &agentpb.InfoResponse{Node: "node-1", Steps: []*agentpb.Step{{Name: "sync.pod"}}, Goroutines: []string{""}}}
	s.news <- session.News{CaughtUp: true, Fault: errors.New("the trace is damaged at byte 7"), Batches: []*agentpb.Batch{{
		Pods: []*agentpb.Pod{web}, Events: [][]byte{eventtest.Encode(&agentpb.Event{Kind: agentpb.Kind_EXIT, Step: 1, Pod: 1, Error: "no"})},
	}}}
	var out bytes.Buffer
	if err := Run(t.Context(), s, Options{Lang: words.Chinese, Because: "--plain", Out: &out}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"纯文本模式（--plain）", "失败：no", "damaged at byte 7"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not printed:\n%s", want, out.String())
		}
	}
}

// TestPlainAttached: the cluster's reports of a pod are printed with their source, and the agent's notes about
// itself in its own words.
func TestPlainAttached(t *testing.T) {
	s := &tape{news: make(chan session.News, 8), file: "x.podstep"}
	field := eventtest.Field
	s.news <- session.News{Info: &agentpb.InfoResponse{Node: "node-1", Probes: []*agentpb.Probe{{Name: "cri"}}, Goroutines: []string{""}, Steps: []*agentpb.Step{
		{Name: "reported.condition"}, {Name: "reported.ip"}, {Name: "reported.container"}, {Name: "cluster.kubelet"},
	}}}
	s.news <- session.News{CaughtUp: true, Batches: []*agentpb.Batch{{Pods: []*agentpb.Pod{web}, Events: [][]byte{
		eventtest.Encode(&agentpb.Event{Kind: agentpb.Kind_ENTER, Step: 1, Pod: 1, Fields: []*agentpb.Field{field("status", "True"), field("type", "Ready"), field("since", "now")}}),
		eventtest.Encode(&agentpb.Event{Kind: agentpb.Kind_EXIT, Step: 1, Pod: 1}),
		eventtest.Encode(&agentpb.Event{Kind: agentpb.Kind_ENTER, Step: 2, Pod: 1, Fields: []*agentpb.Field{field("ips", "10.0.0.1")}}),
		eventtest.Encode(&agentpb.Event{Kind: agentpb.Kind_EXIT, Step: 3, Pod: 1, Error: "app cannot start"}),
		eventtest.Encode(&agentpb.Event{Kind: agentpb.Kind_ENTER, Step: 1, Pod: 1, Fields: []*agentpb.Field{field("type", "Ready"), field("from", "kubelet")}}),
		eventtest.Encode(&agentpb.Event{Kind: agentpb.Kind_NOTE, Fields: []*agentpb.Field{field("text", "the runtime was restarted")}}),
	}}}}
	var out bytes.Buffer
	if err := Run(t.Context(), s, Options{Lang: words.English, Because: "--plain", Out: &out}); err != nil {
		t.Fatal(err)
	}
	got := out.String()
	for _, want := range []string{
		"reported.condition (Condition of the pod): type Ready, status True, reported by api\n",
		"reported.container (State of a container): failed: app cannot start\n",
		"type Ready, reported by kubelet\n",
		"Node: the runtime was restarted\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not printed:\n%s", want, got)
		}
	}
	for _, not := range []string{"10.0.0.1", "since", "done after"} {
		if strings.Contains(got, not) {
			t.Errorf("%q is printed:\n%s", not, got)
		}
	}
}
