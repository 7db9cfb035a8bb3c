package attach

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/probes/companion"
)

// children returns the children of a process that were started in a role.
func children(pid int, role string) (out []int) {
	for _, child := range companion.Children(pid) {
		args, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", child))
		if bytes.HasSuffix(args, []byte("\x00"+role+"\x00")) {
			out = append(out, child)
		}
	}
	slices.Sort(out)
	return out
}

// eventually waits until something is so.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
	}
}

// killCompanions sends a signal to a relay process, its guard, or both, in that order, and returns when the relay
// process has ended.
func killCompanions(t *testing.T, with unix.Signal, roles ...string) {
	t.Helper()
	var relays, guards []int
	eventually(t, "a relay process and its guard", func() bool {
		relays = children(os.Getpid(), "relay")
		if len(relays) == 1 {
			guards = children(relays[0], "guard")
		}
		return len(relays) == 1 && len(guards) == 1
	})
	all := map[string]int{"relay": relays[0], "guard": guards[0]}
	for _, role := range roles {
		_ = unix.Kill(all[role], with)
	}
	if slices.Contains(roles, "relay") {
		eventually(t, "the relay process has ended", func() bool { return !slices.Contains(children(os.Getpid(), "relay"), relays[0]) })
	}
}

// TestKilledAtAnyMoment: the relay process and its guard are killed, each alone and both, from when the path is taken
// until podstep has left. Or both are stopped. The path works again, podstep starts others, and leaves everything as it
// was.
func TestKilledAtAnyMoment(t *testing.T) {
	for _, who := range []string{"relay", "guard relay"} {
		for _, when := range []string{"before a call", "when it is ready", "at the end"} {
			t.Run(who+" "+when, func(t *testing.T) { killedAt(t, when, unix.SIGKILL, strings.Fields(who)) })
		}
	}
	t.Run("both are stopped before a call", func(t *testing.T) { killedAt(t, "before a call", unix.SIGSTOP, []string{"guard", "relay"}) })
}

func killedAt(t *testing.T, when string, with unix.Signal, who []string) {
	r := playRuntime(t)
	before, err := os.Lstat(r.path)
	if err != nil {
		t.Fatal(err)
	}
	dir, printed := t.TempDir(), &prints{}
	o := played(Options{
		Kubelet: kubeletHere(t, r.path), Socket: filepath.Join(dir, "agent.sock"), State: filepath.Join(dir, "state"), Probes: []Kind{CRI}, Print: printed.add,
	})
	started := make(chan *Session, 1)
	go func() {
		defer close(started)
		s, err := Start(t.Context(), o)
		if err != nil {
			t.Errorf("start: %v; it printed %s", err, printed)
			return
		}
		started <- s
	}()
	if when == "before a call" {
		eventually(t, "the path is taken", func() bool {
			now, err := os.Lstat(r.path)
			return err == nil && !os.SameFile(before, now)
		})
		killCompanions(t, with, who...)
	}
	// From here on the kubelet makes calls.
	playKubelet(t, r.path, "Version")
	s := <-started
	if s == nil {
		return
	}
	defer s.Stop(context.WithoutCancel(t.Context())) //nolint:errcheck // it is for a test that has failed
	if when == "when it is ready" {
		killCompanions(t, with, who...)
	}
	works := func() bool {
		_, err := dialPath(t, r.path).Version(t.Context(), &runtimeapi.VersionRequest{})
		return err == nil
	}
	eventually(t, "a call goes through the path", works)
	eventually(t, "another relay process has the path", func() bool {
		now, err := os.Lstat(r.path)
		return err == nil && !os.SameFile(before, now) && len(children(os.Getpid(), "relay")) == 1 && s.agent.States()[0].State == agentpb.ProbeState_PROBE_RUNNING
	})
	if when == "at the end" {
		end := make(chan error, 1)
		go func() { end <- s.Stop(context.WithoutCancel(t.Context())) }()
		killCompanionsIfThere(who)
		if err := <-end; err != nil {
			t.Errorf("stop: %v", err)
		}
	} else if err := s.Stop(context.WithoutCancel(t.Context())); err != nil {
		t.Errorf("stop: %v", err)
	}
	if !works() {
		t.Error("no call goes through the path that was given back")
	}
	untouched(t, r.path, before)
}

// killCompanionsIfThere kills them at whatever moment of their end this is.
func killCompanionsIfThere(roles []string) {
	for _, relay := range children(os.Getpid(), "relay") {
		guards := children(relay, "guard")
		for _, role := range roles {
			if role == "relay" {
				guards = []int{relay}
			}
			for _, pid := range guards {
				_ = unix.Kill(pid, unix.SIGKILL)
			}
		}
	}
}
