package fleet

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/agenttest"
	"github.com/podstep/podstep/agent/client"
	"github.com/podstep/podstep/agent/reason"
)

// bad are nodes that fail, each in one way.
func bad(t *testing.T) (nodes []Node, want map[string]State) {
	t.Helper()
	want = map[string]State{"mute": Silent, "hangs": Silent, "flood": Flooding, "old": Unlike, "web server": Gone, "nobody": Gone, "file": Gone}
	path := map[string]string{}
	for name := range want {
		path[name] = socketOf(t, "s")
		nodes = append(nodes, Socket(name, path[name]))
	}
	listener(t, path["mute"], func(c net.Conn) { _, _ = io.Copy(io.Discard, c) })
	listener(t, path["web server"], func(c net.Conn) { _, _ = c.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n")) })
	for name, change := range map[string]func(*fakeAgent){
		"hangs": func(a *fakeAgent) { a.hangs = true },
		"flood": func(a *fakeAgent) { a.floods = true },
		"old":   func(a *fakeAgent) { a.old = true },
	} {
		a := newAgent(name, 7)
		change(a)
		agenttest.Serve(t, a, path[name])
	}
	if err := os.WriteFile(path["file"], nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return nodes, want
}

// TestFailuresStayAlone: each way of failing is reported as what it is, and the nodes that are well are followed as if
// there were no others.
func TestFailuresStayAlone(t *testing.T) {
	nodes, want := bad(t)
	well := newAgent("well", 1)
	path := socketOf(t, "well")
	agenttest.Serve(t, well, path)
	f := follow(append(nodes, Socket("", path)), short)
	defer f.Close()
	for name, state := range want {
		all := until(t, f, func(all []Status) bool { return Named(all, name) != nil && Named(all, name).State == state })
		if s := Named(all, name); !state.Answers() && (s.Why == nil || reason.Error(s.Why).Zh == "") {
			t.Errorf("%s has no reason in both languages: %v", name, s.Why)
		}
	}
	for _, state := range []string{"working", "stuck", "held"} {
		well.become(t, state)
		until(t, f, func(all []Status) bool { return podState(Named(all, "well")) == state })
	}
	all, _ := f.Next(t.Context())
	if s := Named(all, "well"); s.State != Live || s.Events < 3 || s.Agents != 1 {
		t.Errorf("the node that is well is %+v", s)
	}
}

// TestPodsStay: the pods of a node whose agent does not answer any more are kept, as of before.
func TestPodsStay(t *testing.T) {
	a := newAgent("one", 1)
	a.hangs = true
	path := socketOf(t, "one")
	agenttest.Serve(t, a, path)
	f := follow([]Node{Socket("", path)}, short)
	defer f.Close()
	all := until(t, f, func(all []Status) bool { return all[0].State == Silent })
	if podState(&all[0]) != "running" || all[0].Why == nil || all[0].At.IsZero() {
		t.Errorf("the node that hangs is %+v", all[0])
	}
}

// TestAnotherAgent: an agent that was started again is another one, and has its own node and pods.
func TestAnotherAgent(t *testing.T) {
	path := socketOf(t, "node")
	stop := agenttest.Serve(t, newAgent("one", 1), path)
	f := follow([]Node{Socket("", path)}, short)
	defer f.Close()
	until(t, f, func(all []Status) bool { return all[0].State == Live })
	stop()
	all := until(t, f, func(all []Status) bool { return all[0].State == Gone })
	if podState(&all[0]) != "running" || all[0].Name != "one" {
		t.Errorf("the node whose agent has ended is %+v", all[0])
	}
	next := newAgent("two", 2)
	next.state = "stuck"
	agenttest.Serve(t, next, path)
	all = until(t, f, func(all []Status) bool { return all[0].State == Live })
	if s := all[0]; s.Agents != 2 || s.Name != "two" || podState(&s) != "stuck" || s.Why != nil {
		t.Errorf("after another agent has come the node is %+v", s)
	}
}

// TestAnotherKubelet: a node whose kubelet is replaced by one of another version has that version.
func TestAnotherKubelet(t *testing.T) {
	a := newAgent("one", 1)
	path := socketOf(t, "node")
	agenttest.Serve(t, a, path)
	f := follow([]Node{Socket("", path)}, short)
	defer f.Close()
	until(t, f, func(all []Status) bool { return all[0].State == Live })
	a.mu.Lock()
	a.next = "v1.99.0"
	a.mu.Unlock()
	a.become(t, "working")
	all := until(t, f, func(all []Status) bool { return all[0].About.GetKubeletVersion() == "v1.99.0" })
	if s := all[0]; s.Agents != 1 || s.State != Live {
		t.Errorf("after the kubelet was replaced the node is %+v", s)
	}
}

// TestFloodEnds: a node that has flooded is live again when it stops.
func TestFloodEnds(t *testing.T) {
	a := newAgent("one", 1)
	path := socketOf(t, "one")
	agenttest.Serve(t, a, path)
	tight := short
	tight.budget = 500
	f := follow([]Node{Socket("", path)}, tight)
	defer f.Close()
	until(t, f, func(all []Status) bool { return all[0].State == Live })
	a.become(t, "working")
	seen, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case a.news <- struct{}{}:
			case <-seen:
				return
			}
		}
	}()
	until(t, f, func(all []Status) bool { return all[0].State == Flooding })
	close(seen)
	<-ended
	until(t, f, func(all []Status) bool { return all[0].State == Live && podState(&all[0]) == "working" })
}

// TestAsk: all nodes are asked at once, and those that do not answer delay none.
func TestAsk(t *testing.T) {
	nodes, want := bad(t)
	path := socketOf(t, "well")
	agenttest.Serve(t, newAgent("well", 1), path)
	nodes = append(nodes, Socket("", path))
	answers := Ask(t.Context(), nodes, short.answer, func(ctx context.Context, c *client.Client) (int, error) {
		for range 2 { // the second question is the one that an agent does not answer
			if _, err := c.Pods(ctx, &agentpb.PodsRequest{}); err != nil {
				return 0, err
			}
		}
		return 5, nil
	})
	for _, a := range answers {
		state, isBad := want[a.Name]
		switch {
		case !isBad || state == Flooding:
			if a.Err != nil || a.Value != 5 {
				t.Errorf("%s: %d, %v", a.Name, a.Value, a.Err)
			}
		case a.Err == nil || stateOf(a.Err) != state:
			t.Errorf("%s: %v, want the error of a node in state %d", a.Name, a.Err, state)
		}
	}
	if len(answers) != len(want)+1 || answers[len(want)].Name != "well" {
		t.Errorf("the answers are not those of the nodes: %+v", answers)
	}
}

// TestAskInterrupted: a person's Ctrl-C is no silence of a node.
func TestAskInterrupted(t *testing.T) {
	path := socketOf(t, "mute")
	came := make(chan struct{})
	listener(t, path, func(c net.Conn) {
		close(came)
		_, _ = io.Copy(io.Discard, c)
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-came
		cancel()
	}()
	answers := Ask(ctx, []Node{Socket("", path)}, Patience, func(context.Context, *client.Client) (int, error) { return 0, nil })
	if err := answers[0].Err; !errors.Is(err, context.Canceled) || silent(err) {
		t.Errorf("interrupted: %v", err)
	}
}

func TestParseSocket(t *testing.T) {
	for text, want := range map[string]struct{ name, place, called string }{
		"/run/agent.sock":     {"", "/run/agent.sock", "agent"},
		"n1=/run/agent.sock":  {"n1", "/run/agent.sock", "n1"},
		"./a=b/agent.sock":    {"", "./a=b/agent.sock", "agent"},
		"n1=rel.sock":         {"n1", "rel.sock", "n1"},
		"/srv/a=b/agent.sock": {"", "/srv/a=b/agent.sock", "agent"},
	} {
		n, err := ParseSocket(text)
		if err != nil || n.Name != want.name || n.Place.String() != want.place || n.Called() != want.called {
			t.Errorf("%q: %q at %q, called %q, %v", text, n.Name, n.Place, n.Called(), err)
		}
	}
	for text, want := range map[string]string{"": "the path is empty", "n1=": "the path is empty", "=/run/agent.sock": "no name before the ="} {
		if _, err := ParseSocket(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
