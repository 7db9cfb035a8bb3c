package far

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/agenttest"
	"github.com/podstep/podstep/agent/client"
	"github.com/podstep/podstep/agent/kubeapi/apitest"
)

// stdioEnv makes this test's program be podstep agent-stdio. Its value is the path of the agent's socket.
const stdioEnv = "PODSTEP_TEST_STDIO"

func TestMain(m *testing.M) {
	if path := os.Getenv(stdioEnv); path != "" {
		os.Exit(playStdio(path, os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

func playStdio(path string, in io.Reader, out, errOut io.Writer) int {
	conn, err := client.At(path).Connect(context.Background())
	if err == nil {
		err = Join(context.Background(), conn, in, out)
	}
	if err != nil {
		fmt.Fprintln(errOut, "podstep:", err)
		return 1
	}
	return 0
}

// way is one way to an agent, with what plays the other machine.
type way struct {
	place client.Place
	// path is the agent's socket on the other machine.
	path string
	// cut breaks all connections on the way.
	cut func()
}

// podOn returns a pod of podstep that is ready.
func podOn(node, name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: name, UID: "u-1", Labels: map[string]string{nameLabel: nameValue}},
		Spec:       corev1.PodSpec{NodeName: node},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{{Name: container, Ready: true}}},
	}
}

func byExec(t *testing.T, onlySPDY bool) *way {
	w := &way{path: filepath.Join(t.TempDir(), "s")}
	exec := &apitest.Exec{OnlySPDY: onlySPDY, Run: func(pod string, command []string, in io.Reader, out, errOut io.Writer) int {
		if pod != "agent-1" || strings.Join(command, " ") != "podstep agent-stdio" {
			fmt.Fprintf(errOut, "%q is run in pod %s", command, pod)
			return 1
		}
		return playStdio(w.path, in, out, errOut)
	}}
	mux := http.NewServeMux()
	mux.Handle("/api/v1/namespaces/kube-system/pods/{pod}/exec", exec)
	mux.HandleFunc("/api/v1/pods", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("labelSelector") != "app.kubernetes.io/name=podstep" || r.URL.Query().Get("fieldSelector") != "spec.nodeName=node-1" {
			apitest.Fail(w, http.StatusBadRequest, "what is asked is "+r.URL.RawQuery)
			return
		}
		apitest.Answer(w, http.StatusOK, corev1.PodList{Items: []corev1.Pod{*podOn("node-1", "agent-1")}})
	})
	c, err := NewCluster(apitest.Start(t, mux).Config(), "default")
	if err != nil {
		t.Fatal(err)
	}
	w.place, w.cut = c.OnNode("node-1"), exec.Cut
	return w
}

// bySSH puts a program called ssh first in the PATH. It greets, as shells of some users do.
func bySSH(t *testing.T) *way {
	dir := t.TempDir()
	w := &way{path: filepath.Join(dir, "s")}
	script := `#!/bin/sh
echo $$ >> ` + dir + `/pids
echo "$@" >> ` + dir + `/asked
echo "Welcome to node-1! podstep agent"
exec env ` + stdioEnv + "=" + w.path + " " + os.Args[0] + "\n"
	if err := os.WriteFile(filepath.Join(dir, "ssh"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	var err error
	if w.place, err = BySSH("root@node-1"); err != nil {
		t.Fatal(err)
	}
	w.cut = func() { killAll(t, filepath.Join(dir, "pids")) }
	return w
}

func killAll(t *testing.T, file string) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range strings.Fields(string(text)) {
		var pid int
		if _, err := fmt.Sscan(word, &pid); err != nil {
			t.Fatal(err)
		}
		if p, err := os.FindProcess(pid); err == nil {
			_ = p.Kill()
		}
	}
}

func ways(t *testing.T) map[string]func(t *testing.T) *way {
	return map[string]func(t *testing.T) *way{
		"WebSocket": func(t *testing.T) *way { return byExec(t, false) },
		"SPDY":      func(t *testing.T) *way { return byExec(t, true) },
		"ssh":       bySSH,
	}
}

// fake is an agent that answers Info, and watches until it ends.
type fake struct {
	agentpb.UnimplementedAgentServer
	left chan struct{} // gets a value when a watch has ended
}

func (f *fake) Info(context.Context, *agentpb.InfoRequest) (*agentpb.InfoResponse, error) {
	return agenttest.Info(), nil
}

func (f *fake) Stats(context.Context, *agentpb.StatsRequest) (*agentpb.StatsResponse, error) {
	return &agentpb.StatsResponse{Connections: 1}, nil
}

func (f *fake) Watch(_ *agentpb.WatchRequest, s agentpb.Agent_WatchServer) error {
	large := &agentpb.Batch{Events: [][]byte{make([]byte, 300<<10)}}
	if err := s.Send(large); err != nil {
		return err
	}
	<-s.Context().Done()
	f.left <- struct{}{}
	return s.Context().Err()
}

// TestPlaces: an agent of another machine is reached as one of this machine is. When the client leaves, the agent sees
// that. When the agent ends, a call fails with a sentence, and a later one reaches the next agent.
func TestPlaces(t *testing.T) {
	for name, make := range ways(t) {
		t.Run(name, func(t *testing.T) {
			w := make(t)
			f := &fake{left: newSignal()}
			stop := agenttest.Serve(t, f, w.path)
			c := reach(t, w)
			watch, err := c.Watch(t.Context(), &agentpb.WatchRequest{})
			if err != nil {
				t.Fatal(err)
			}
			if b, err := watch.NextRaw(); err != nil || len(b.Events[0]) != 300<<10 {
				t.Fatalf("a large batch came as %v", err)
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
			<-f.left // the agent has seen that its client is gone

			again := reach(t, w)
			stop()
			_, err = again.Info(t.Context(), &agentpb.InfoRequest{})
			checkGone(t, err)
			_, err = client.Reach(t.Context(), w.place)
			checkGone(t, err)
			agenttest.Serve(t, f, w.path)
			reach(t, w)
		})
	}
}

// TestCut: when the way to an agent breaks, calls fail, and the client finds the way again.
func TestCut(t *testing.T) {
	for name, make := range ways(t) {
		t.Run(name, func(t *testing.T) {
			w := make(t)
			f := &fake{left: newSignal()}
			agenttest.Serve(t, f, w.path)
			c := reach(t, w)
			watch, err := c.Watch(t.Context(), &agentpb.WatchRequest{})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := watch.NextRaw(); err != nil {
				t.Fatal(err)
			}
			w.cut()
			_, err = watch.NextRaw()
			checkGone(t, err)
			<-f.left
			if _, err := c.Info(t.Context(), &agentpb.InfoRequest{}); err != nil {
				t.Errorf("the client does not connect again: %v", err)
			}
		})
	}
}

func newSignal() chan struct{} { return make(chan struct{}, 8) }

func reach(t *testing.T, w *way) *client.Client {
	t.Helper()
	c, err := client.Reach(t.Context(), w.place)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if c.About().Node != "node-1" {
		t.Errorf("the agent is of node %s", c.About().Node)
	}
	return c
}

// checkGone checks that an error is that of an agent that is gone, and a sentence.
func checkGone(t *testing.T, err error) {
	t.Helper()
	var plain *client.Error
	if !errors.As(err, &plain) || plain.Kind != client.NoAgent || strings.Contains(err.Error(), "rpc error") {
		t.Errorf("the error is %v", err)
	}
}

// TestNoAgent: what agent-stdio says of an agent that is not there comes to the person here.
func TestNoAgent(t *testing.T) {
	for name, make := range ways(t) {
		t.Run(name, func(t *testing.T) {
			w := make(t)
			_, err := client.Reach(t.Context(), w.place)
			checkGone(t, err)
			if err == nil || !strings.Contains(err.Error(), "no agent at "+w.path) || !strings.Contains(err.Error(), "node-1") {
				t.Errorf("the error is %v", err)
			}
		})
	}
}
