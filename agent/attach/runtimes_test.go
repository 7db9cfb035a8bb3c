package attach

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/podstep/podstep/agent/agentpb"
)

// TestNotAttached: podstep does not attach to a kubelet whose runtime lets no call through,
// names the reason, and leaves all as it was.
func TestNotAttached(t *testing.T) {
	for name, c := range map[string]struct {
		runtime oddRuntime
		calls   []string
		want    []string
	}{
		"refuses": {oddRuntime{refuse: true}, []string{"Version"}, []string{"nobody listens on it; start the runtime"}},
		"accepts nobody": {oddRuntime{accept: func(ctx context.Context) bool { <-ctx.Done(); return true }}, []string{"Version"},
			[]string{"listens, but has not accepted a connection", "look into the runtime's log"}},
		"hangs up": {oddRuntime{accept: func(context.Context) bool { return false }}, []string{"Version"},
			[]string{"hangs up on who connects", "look into the runtime's log"}},
		"answers nothing": {oddRuntime{answer: only("", hangs)}, []string{"Version", "Status"},
			[]string{"the kubelet makes no new calls", "the runtime does not answer them", "look into the runtime's log"}},
		"answers nothing to a kubelet that gives up": {oddRuntime{answer: only("", stuck)}, []string{"Version, hurried"},
			[]string{"the runtime has answered none of its calls", "Version for ", "look into the runtime's log"}},
		"answers Version, but the kubelet asks for more": {oddRuntime{answer: only("Version", hangs)}, []string{"Status", "ListPodSandbox"},
			[]string{"the kubelet makes no new calls", "the runtime does not answer them"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := c.runtime.play(t)
			before, err := os.Lstat(path)
			if err != nil {
				t.Fatal(err)
			}
			playKubelet(t, path, c.calls...)
			_, printed, err := attachHere(t, path)
			if err == nil {
				t.Fatal("podstep is attached")
			}
			for _, want := range append(c.want, path) {
				if !strings.Contains(err.Error(), want) || !printed.has(want) {
					t.Errorf("the reason is %q, and is printed as %q: want %q", err, printed, want)
				}
			}
			untouched(t, path, before)
			t.Log(err)
		})
	}
}

// TestAttachedAllTheSame: if the runtime answers late, or not all calls, podstep attaches all the same, and names
// what it cannot know.
func TestAttachedAllTheSame(t *testing.T) {
	unknown := func(context.Context) error { return status.Error(codes.Unimplemented, "unknown method") }
	// unread is what podstep prints if the runtime does not list its pods.
	const unread = "calls about pods that are there already may not be known as theirs: ask the runtime for its sandboxes: "
	for name, c := range map[string]struct {
		runtime oddRuntime
		want    string
	}{
		"accepts late":       {oddRuntime{accept: func(context.Context) bool { time.Sleep(300 * time.Millisecond); return true }}, ""},
		"knows only Version": {oddRuntime{answer: only("Version", unknown)}, unread + "rpc error: code = Unimplemented"},
		"knows only Status":  {oddRuntime{answer: only("Status", unknown)}, unread + "rpc error: code = Unimplemented"},
		"hangs but for Version": {oddRuntime{answer: only("Version", hangs)},
			unread + "rpc error: code = DeadlineExceeded"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := c.runtime.play(t)
			before, err := os.Lstat(path)
			if err != nil {
				t.Fatal(err)
			}
			playKubelet(t, path, "Version", "Status", "ListPodSandbox")
			s, printed, err := attachHere(t, path)
			if err != nil {
				t.Fatal(err)
			}
			untilState(t, s, agentpb.ProbeState_PROBE_RUNNING)
			if c.want != "" && !printed.has(c.want) {
				t.Errorf("it is printed %q, want %q", printed, c.want)
			}
			hurry, cancel := context.WithCancel(t.Context())
			cancel() // calls that hang are left to the relay process
			if err := s.Stop(hurry); err != nil {
				t.Error(err)
			}
			awaitBack(t, &playedRuntime{path: path})
			until(t, "all is as before", func() bool {
				entries, err := os.ReadDir(filepath.Dir(path))
				return err == nil && len(entries) == 1
			})
			untouched(t, path, before)
			t.Log(printed)
		})
	}
}
