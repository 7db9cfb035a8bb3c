package attach

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/client"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/kubelets"
	"github.com/podstep/podstep/probes/uprobe"
)

// made returns a kind of probe that sees nothing.
func made(name string, prepare func(*Target) (Probe, error)) Kind {
	return Kind{Name: name, New: prepare, Abilities: func(*probes.Catalogue, *Target) probes.Abilities {
		return uprobe.NoAbilities(errors.New("a test has none")).As(name)
	}}
}

// lines are what probes of a test report, in order.
type lines struct {
	mu  sync.Mutex
	all []string
}

func (l *lines) add(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, fmt.Sprintf(format, args...))
}

func (l *lines) has(line string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Contains(l.all, line)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.all, "\n")
}

// ofProcess is a probe of one process.
type ofProcess struct {
	*lines
	pid    int
	refuse *atomic.Int32 // so many starts fail
}

func (p *ofProcess) Start(_ context.Context, h *Host) error {
	if p.refuse.Add(-1) >= 0 {
		p.add("refused %d", p.pid)
		return errors.New("it is not ready to be looked into")
	}
	p.add("start %d", p.pid)
	h.Working(nil)
	h.Go(func() {
		<-h.Context().Done()
		p.add("over %d", p.pid)
	})
	return nil
}

func (p *ofProcess) Stop(context.Context) error { p.add("stop %d", p.pid); return nil }

func (p *ofProcess) gone(why error) { p.add("%v", why) }

// playedKubelet is a process that plays a kubelet.
func playedKubelet(t *testing.T) (*exec.Cmd, kubelets.Kubelet) {
	t.Helper()
	c := exec.Command("sleep", "1000")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	return c, kubelets.Kubelet{PID: c.Process.Pid, Started: startOf(t, c.Process.Pid), Root: "/", OwnNetwork: true}
}

// TestFollowing: when the kubelet ends, its probe ends the calls under way, reports why it sees nothing, and begins
// anew with the next kubelet, however often that takes. One that cannot follow fails, with the reason.
func TestFollowing(t *testing.T) {
	for _, last := range []bool{false, true} {
		t.Run(fmt.Sprintf("last %v", last), func(t *testing.T) { follow(t, last) })
	}
}

func follow(t *testing.T, last bool) {
	first, one := playedKubelet(t)
	_, two := playedKubelet(t)
	one.Version, two.Version = "v1.30.0", "v1.36.0"
	var log lines
	var refuse atomic.Int32
	there := make(chan struct{})
	o := Options{Kubelet: one, Socket: filepath.Join(t.TempDir(), "agent.sock")}
	o.next = func(_ context.Context, old *kubelets.Kubelet) (kubelets.Kubelet, error) {
		select {
		case <-there:
			return two, nil
		default:
			return kubelets.Kubelet{}, kubelets.ErrNone
		}
	}
	o.Probes = []Kind{made("uprobe", func(t *Target) (Probe, error) {
		f, err := newFollowing("uprobe", t, func(t *Target) (processProbe, error) {
			return &ofProcess{&log, t.current().PID, &refuse}, nil
		})
		if last {
			f.last = func(pid int) error { return fmt.Errorf("process %d was the only one", pid) }
		}
		return f, err
	})}
	o.Probes[0].Abilities = ofVersion
	s, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Stop(context.WithoutCancel(t.Context())) //nolint:errcheck // it is for a test that has failed
	untilState(t, s, agentpb.ProbeState_PROBE_RUNNING)
	reportsVersion(t, s, one.Version)
	_ = first.Process.Kill()
	if last {
		untilState(t, s, agentpb.ProbeState_PROBE_FAILED)
		eventually(t, "the probe is stopped", func() bool { return log.has(fmt.Sprintf("stop %d", one.PID)) })
		return
	}
	untilState(t, s, agentpb.ProbeState_PROBE_RETRYING)
	eventually(t, "the probe of the first is stopped", func() bool { return log.has(fmt.Sprintf("stop %d", one.PID)) })
	refuse.Store(2)
	close(there)
	untilState(t, s, agentpb.ProbeState_PROBE_RUNNING)
	reportsVersion(t, s, two.Version)
	if err := s.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	eventually(t, "all is over", func() bool { return log.has(fmt.Sprintf("over %d", two.PID)) })
	want := fmt.Sprintf("start %[1]d\nthe kubelet, process %[1]d, has ended\nstop %[1]d\nrefused %[2]d\nrefused %[2]d\nstart %[2]d\nstop %[2]d", one.PID, two.PID)
	got := slices.DeleteFunc(strings.Split(log.String(), "\n"), func(line string) bool { return strings.HasPrefix(line, "over") })
	if text := strings.Join(got, "\n"); text != want {
		t.Errorf("it did\n%s\nwant\n%s", text, want)
	}
	if !log.has(fmt.Sprintf("over %d", one.PID)) {
		t.Error("what the probe of the first kubelet began goes on")
	}
}

// ofVersion returns the abilities of a probe that sees another step in each version of the kubelet.
func ofVersion(c *probes.Catalogue, t *Target) probes.Abilities {
	step := map[string]string{"v1.30.0": "sync.pod", "v1.36.0": "rt.sync"}[t.current().Version]
	return probes.Abilities{Probe: "uprobe", Steps: map[string]probes.Ability{step: probes.Everything()}}
}

// reportsVersion checks that the agent states the version of the present kubelet, and what can be seen in that.
func reportsVersion(t *testing.T, s *Session, version string) {
	t.Helper()
	c, err := client.Dial(t.Context(), s.o.Socket)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if got := c.About().GetKubeletVersion(); got != version {
		t.Errorf("the kubelet's version is %s, want %s", got, version)
	}
	for _, st := range c.About().GetSteps() {
		seen := slices.ContainsFunc(st.GetAbilities(), wire.Sees)
		if want := ofVersion(nil, s.target).Steps[st.GetName()].Entry; seen != want {
			t.Errorf("kubelet %s: %s is seen: %v, want %v", version, st.GetName(), seen, want)
		}
	}
}

// hardly is a probe whose first starts fail.
type hardly struct{ fails *atomic.Int32 }

func (p *hardly) Start(_ context.Context, h *Host) error {
	if p.fails.Add(-1) >= 0 {
		return errors.New("not yet")
	}
	h.Working(nil)
	return nil
}

func (p *hardly) Stop(context.Context) error { return nil }

// TestStartsAgain: a probe whose start fails is tried again while others work. If none works, podstep does not attach.
func TestStartsAgain(t *testing.T) {
	var fails, never atomic.Int32
	fails.Store(2)
	again := made("cri", func(*Target) (Probe, error) { return &hardly{&fails}, nil })
	again.Again = true
	other := made("api", func(*Target) (Probe, error) { return &hardly{&never}, nil })
	o := Options{Socket: filepath.Join(t.TempDir(), "agent.sock"), Probes: []Kind{again, other}}
	s, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if now := s.agent.States()[0].State; now != agentpb.ProbeState_PROBE_RETRYING {
		t.Errorf("it is in the state %v", now)
	}
	untilState(t, s, agentpb.ProbeState_PROBE_RUNNING)
	if err := s.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	fails.Store(1)
	o.Probes = []Kind{again}
	if s, err := Start(t.Context(), o); err == nil || !strings.Contains(err.Error(), "not yet") {
		t.Errorf("alone it is attached: %v, %v", s, err)
	}
}
