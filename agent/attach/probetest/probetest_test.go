package probetest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podstep/podstep/agent"
	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/attach"
	"github.com/podstep/podstep/agent/client"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/cri/relayproc"
	"github.com/podstep/podstep/probes/cri/takeover"
	"github.com/podstep/podstep/probes/kubelets"
)

// TestMain also plays the processes that the cri probe starts.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 {
		switch os.Args[1] {
		case "relay":
			os.Exit(relayproc.Main())
		case "guard":
			os.Exit(takeover.Guard())
		}
	}
	os.Exit(m.Run())
}

// attached hosts these kinds of probes, and returns a client of the agent.
func attached(t *testing.T, k kubelets.Kubelet, kinds ...attach.Kind) (*attach.Session, *client.Client) {
	t.Helper()
	dir := t.TempDir()
	k.OwnNetwork = true // so that podstep does not ask for its pods
	s, err := attach.Start(t.Context(), attach.Options{
		Kubelet: k, Probes: kinds, Socket: filepath.Join(dir, "agent.sock"), State: filepath.Join(dir, "state"),
		Print: func(line string) { t.Log(line) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Stop(context.WithoutCancel(t.Context())) })
	c, err := client.Dial(t.Context(), filepath.Join(dir, "agent.sock"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return s, c
}

// patience is how long a test waits for what must happen.
const patience = 30 * time.Second

// stream has the events that the agent sends.
type stream struct {
	t     *testing.T
	watch *client.Watch
	past  []probes.Event
}

func follow(t *testing.T, c *client.Client) *stream {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	w, err := c.Watch(ctx, &agentpb.WatchRequest{History: true, Node: true})
	if err != nil {
		t.Fatal(err)
	}
	return &stream{t: t, watch: w}
}

// until reads events until is returns true for one, and returns that.
func (s *stream) until(what string, is func(*probes.Event) bool) probes.Event {
	s.t.Helper()
	for seen := 0; ; {
		for ; seen < len(s.past); seen++ {
			if is(&s.past[seen]) {
				return s.past[seen]
			}
		}
		b, err := s.watch.Next()
		if err != nil {
			s.t.Fatalf("%s has not come, but %+v: %v", what, s.past, err)
		}
		s.past = append(s.past, b.Events...)
	}
}

// state waits until a probe is in a state.
func (s *stream) state(probe, state string) probes.Event {
	s.t.Helper()
	return s.until(probe+" "+state, func(e *probes.Event) bool { return e.Probe == probe && e.Step == "" && e.Fields["state"] == state })
}

func pod(name string) *v1.Pod {
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: "uid-1"}}
}

func sandbox(name string) *runtimeapi.PodSandboxConfig {
	return &runtimeapi.PodSandboxConfig{Metadata: &runtimeapi.PodSandboxMetadata{Namespace: "default", Name: name, Uid: "uid-1"}}
}

// TestInfo: the agent reports of the probe what the probe reports of itself.
func TestInfo(t *testing.T) {
	_, c := attached(t, kubelets.Kubelet{}, New().Kind(Name))
	info := c.About()
	if len(info.Probes) != 1 || info.Probes[0].Name != Name {
		t.Fatalf("the probes are %v", info.Probes)
	}
	if k := wire.Knows(info); k != (probes.Knows{Turns: true, Nesting: true, Workers: true}) {
		t.Errorf("they know %+v", k)
	}
	sees := 0
	for _, s := range info.Steps {
		a := wire.Ability(s, 0)
		switch why := wire.Unseen(info, s); {
		case wire.Sees(a):
			sees++
		case why.Zh != "没有人虚构它":
			t.Errorf("%s is not seen because %v", s.Name, why)
		}
		switch s.Name {
		case "sync.pod":
			if s.HoldEnter != "yes" || !wire.Holds(a) || !a.Fail || a.NoHold != nil {
				t.Errorf("at sync.pod it can %v", a)
			}
		case "cri.RunPodSandbox":
			if s.HoldEnter != "no" || a.HoldEnter != "no" || a.Results || a.Fail || !slices.Equal(a.Missing, []string{"runtimeHandler"}) ||
				wire.Why(a.NoHold).Text().En != "it is made up, and waits for nobody here" {
				t.Errorf("at cri.RunPodSandbox it can %v", a)
			}
		}
	}
	if sees != 4 {
		t.Errorf("it sees %d steps", sees)
	}
}

// TestStory: the probe's calls are in the stream, nested and in turns, and can be held.
func TestStory(t *testing.T) {
	p := New()
	_, c := attached(t, kubelets.Kubelet{}, p.Kind(Name))
	if _, err := c.AddBreakpoint(t.Context(), &agentpb.AddBreakpointRequest{Step: "cri.RunPodSandbox"}); err == nil || !strings.Contains(err.Error(), "made up") {
		t.Errorf("a hold that it cannot do: %v", err)
	}
	if _, err := c.AddBreakpoint(t.Context(), &agentpb.AddBreakpointRequest{Step: "sync.pod", Times: 1}); err != nil {
		t.Fatal(err)
	}
	web, s := pod("web"), follow(t, c)
	played := make(chan struct{})
	go func() {
		defer close(played)
		for range 2 {
			p.Turn(web, func(in *agent.Call) {
				p.Call("cri.RunPodSandbox", in, []any{sandbox("web"), sandbox("web")}, func() error { return errors.New("no network") })
			})
		}
	}()
	s.until("the hold", func(e *probes.Event) bool {
		return e.Kind == probes.Held && e.Step == "sync.pod" && e.Goroutine == "worker"
	})
	if _, err := c.Continue(t.Context(), &agentpb.ContinueRequest{All: true}); err != nil {
		t.Fatal(err)
	}
	<-played
	s.until("the end", func(e *probes.Event) bool { return e.Kind == probes.Exit && e.Step == "worker.loop" && e.Sync == 2 })
	var story []string
	names := map[uint64]string{0: ""}
	for _, e := range s.past {
		if e.Pod == nil || e.Probe != Name {
			continue
		}
		names[e.Span] = e.Step
		if e.Kind == probes.Enter || e.Error != "" {
			story = append(story, fmt.Sprintf("%s %d %s < %s %s", e.Kind, e.Sync, e.Step, names[e.Parent], e.Error))
		}
	}
	turn := func(n int) []string {
		return []string{
			fmt.Sprintf("enter %d worker.loop <  ", n-1), fmt.Sprintf("enter %d worker.turn < worker.loop ", n), fmt.Sprintf("enter %d sync.pod < worker.turn ", n),
			fmt.Sprintf("enter %d cri.RunPodSandbox < sync.pod ", n), fmt.Sprintf("exit %d cri.RunPodSandbox < sync.pod no network", n),
		}
	}
	if want := append(turn(1), turn(2)...); !slices.Equal(story, want) {
		t.Errorf("the story is\n%s\nwant\n%s", strings.Join(story, "\n"), strings.Join(want, "\n"))
	}
}

// TestOthersGoOn: a probe that cannot be made or started, fails or panics costs the others nothing, and a note tells
// about it. A probe that has failed is stopped.
func TestOthersGoOn(t *testing.T) {
	good, fails, panics, refuses := New(), New(), New(), New()
	refuses.Refuse = errors.New("the kernel has none of it")
	missing := New().Kind("missing")
	missing.New = func(*attach.Target) (attach.Probe, error) { return nil, errors.New("not on this machine") }
	session, c := attached(t, kubelets.Kubelet{}, missing, refuses.Kind("refuses"), fails.Kind("fails"), panics.Kind("panics"), good.Kind("good"))
	info := c.About()
	for i, why := range []string{"not on this machine", "the kernel has none of it", "", "", ""} {
		p := info.Probes[i]
		if wire.Works(p) != (why == "") || wire.Why(p.Reason).Text().En != why {
			t.Errorf("%s is %s because %v, want %q", p.Name, p.State, p.Reason, why)
		}
	}
	s := follow(t, c)
	for _, name := range []string{"fails", "panics", "good"} {
		s.state(name, "running")
	}
	fails.Fail()
	panics.Panic()
	for name, p := range map[string]*Probe{"fails": fails, "panics": panics} {
		if e := s.state(name, "failed"); e.Fields["reason"] != "error" || !strings.Contains(fmt.Sprint(e.Fields["error"]), "the test has it") && name == "fails" {
			t.Errorf("%s: it is said to have failed with %v", name, e.Fields)
		}
		<-p.Stopped
	}
	good.Turn(pod("web"), func(*agent.Call) {})
	s.until("what the good one sees", func(e *probes.Event) bool {
		return e.Kind == probes.Exit && e.Step == "worker.turn" && e.Probe == "good"
	})
	now, err := c.Info(t.Context(), &agentpb.InfoRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []bool{false, false, false, false, true} {
		if wire.Works(now.Probes[i]) != want {
			t.Errorf("%s is %s", now.Probes[i].Name, now.Probes[i].State)
		}
	}
	if err := session.Stop(context.WithoutCancel(t.Context())); err != nil {
		t.Error(err)
	}
	<-good.Stopped
}

// TestNoneStarts: if no probe starts, there is no session.
func TestNoneStarts(t *testing.T) {
	p := New()
	p.Refuse = errors.New("the kernel has none of it")
	_, err := attach.Start(t.Context(), attach.Options{
		Kubelet: kubelets.Kubelet{OwnNetwork: true}, Probes: []attach.Kind{p.Kind(Name)}, Socket: filepath.Join(t.TempDir(), "agent.sock"),
	})
	if err == nil || err.Error() != "start the made probe: the kernel has none of it" {
		t.Errorf("it attaches with no probe: %v", err)
	}
}

// askAlways asks a runtime again and again, as a kubelet does.
func askAlways(ctx context.Context, runtime runtimeapi.RuntimeServiceClient) {
	for ctx.Err() == nil {
		_, _ = runtime.Version(ctx, &runtimeapi.VersionRequest{})
		select {
		case <-ctx.Done():
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// TestOneRow: a call that both the made-up probe and the cri probe see is in the story once. The test plays the
// kubelet.
func TestOneRow(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("to take a socket over takes root")
	}
	path := filepath.Join(t.TempDir(), "r.sock")
	serve(t, path)
	p := New()
	conn, err := grpc.NewClient("unix:"+path, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	go askAlways(t.Context(), runtimeapi.NewRuntimeServiceClient(conn))
	_, c := attached(t, thisProcess(t, path), p.Kind(Name), attach.CRI)
	s := follow(t, c)
	p.Turn(pod("web"), func(in *agent.Call) {
		p.Call("cri.RunPodSandbox", in, []any{sandbox("web"), sandbox("web")}, func() error {
			_, err := runtimeapi.NewRuntimeServiceClient(conn).RunPodSandbox(t.Context(), &runtimeapi.RunPodSandboxRequest{Config: sandbox("web")})
			return err
		})
	})
	is := func(kind probes.Kind, seen any) func(e *probes.Event) bool {
		return func(e *probes.Event) bool {
			return e.Kind == kind && e.Step == "cri.RunPodSandbox" && e.Fields["seen"] == seen
		}
	}
	enter, exit := s.until("enter", is(probes.Enter, nil)), s.until("exit", is(probes.Exit, nil))
	began, ended := s.until("the other one seeing it begin", is(probes.Note, "enter")), s.until("and end", is(probes.Note, "exit"))
	if enter.Probe != Name || enter.Sync != 1 || enter.Parent == 0 || began.Probe != "cri" || ended.Probe != "cri" {
		t.Errorf("seen by %+v and %+v", enter, began)
	}
	for _, e := range []probes.Event{exit, began, ended} {
		if e.Span != enter.Span {
			t.Errorf("%+v is of another call than %+v", e, enter)
		}
	}
	if exit.Fields["podSandboxID"] != nil || ended.Fields["podSandboxID"] != "s1" {
		t.Errorf("the results are %v and %v", exit.Fields, ended.Fields)
	}
	s.until("the end", func(e *probes.Event) bool { return e.Kind == probes.Exit && e.Step == "worker.loop" })
	rows := 0
	for _, e := range s.past {
		if e.Kind == probes.Enter && e.Step == "cri.RunPodSandbox" {
			rows++
		}
	}
	if rows != 1 {
		t.Errorf("it is in the story %d times", rows)
	}
}

// runtime is a runtime that makes a sandbox.
type runtime struct {
	runtimeapi.UnimplementedRuntimeServiceServer
}

func (runtime) RunPodSandbox(context.Context, *runtimeapi.RunPodSandboxRequest) (*runtimeapi.RunPodSandboxResponse, error) {
	return &runtimeapi.RunPodSandboxResponse{PodSandboxId: "s1"}, nil
}

func (runtime) ListPodSandbox(context.Context, *runtimeapi.ListPodSandboxRequest) (*runtimeapi.ListPodSandboxResponse, error) {
	return &runtimeapi.ListPodSandboxResponse{}, nil
}

func (runtime) ListContainers(context.Context, *runtimeapi.ListContainersRequest) (*runtimeapi.ListContainersResponse, error) {
	return &runtimeapi.ListContainersResponse{}, nil
}

func serve(t *testing.T, path string) {
	t.Helper()
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer()
	runtimeapi.RegisterRuntimeServiceServer(s, runtime{})
	go s.Serve(l) //nolint:errcheck // ends with Stop
	t.Cleanup(s.Stop)
}

// thisProcess returns the test as a kubelet, whose runtime is at a path.
func thisProcess(t *testing.T, path string) kubelets.Kubelet {
	t.Helper()
	pid := os.Getpid()
	started, err := kubelets.Started(pid)
	if err != nil {
		t.Fatal(err)
	}
	return kubelets.Kubelet{PID: pid, Started: started, Root: fmt.Sprintf("/proc/%d/root", pid), RuntimeEndpoint: path}
}
