package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/podstep/podstep/agent/agenttest"
	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"podstep": main, "kubectl-podstep": main})
}

// TestScripts runs the command lines of testdata/script. $AGENT is the socket of an agent. By
// default the scripts use a socket that is not there. $COLLECTOR is an OpenTelemetry collector,
// $COLLECTOR_HTTP one over HTTP. $PLANS is a recording with the inputs of plans, $NODE one without.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			// A socket's path must be short, and the scripts' directories are not.
			dir, err := os.MkdirTemp("", "podstep")
			if err != nil {
				return err
			}
			env.Defer(func() { os.RemoveAll(dir) })
			agenttest.Serve(t, newFakeAgent(), filepath.Join(dir, "agent"))
			env.Setenv("COLLECTOR", serveCollector(t))
			env.Setenv("COLLECTOR_HTTP", serveCollectorHTTP(t))
			agenttest.Serve(t, newFakeAgent(), filepath.Join(dir, "agent2"))
			env.Setenv("AGENT", filepath.Join(dir, "agent"))
			env.Setenv("AGENT2", filepath.Join(dir, "agent2"))
			env.Setenv("PODSTEP_SOCKET", filepath.Join(dir, "none"))
			for name, path := range map[string]string{"PLANS": "../../agent/whatif/testdata/plans.podstep", "NODE": realNode} {
				if path, err = filepath.Abs(path); err != nil {
					return err
				}
				env.Setenv(name, path)
			}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits},
	})
}

// exits CODE COMMAND... runs a command that must end with that code, or with one of
// several: 0|1.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND...")
	}
	err := ts.Exec(args[1], args[2:]...)
	code := "0"
	if exit, ok := err.(*exec.ExitError); ok {
		code = itoa(exit.ExitCode())
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if !slices.Contains(strings.Split(args[0], "|"), code) {
		ts.Fatalf("exit code %s, want %s", code, args[0])
	}
}

func itoa(n int) string { return number(uint32(n)) }

// TestInterrupted ends commands that a person would end with Ctrl-C.
func TestInterrupted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	agenttest.Serve(t, newFakeAgent(), path)
	for _, c := range []struct {
		args string
		code int
		err  string
	}{
		{"trace web", exitDone, ""},
		{"top web --watch", exitDone, ""},
		{"top web --watch -o json", exitDone, ""},
		{"trace web --until held", exitFailed, "interrupted before web was held"},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		var stderr bytes.Buffer
		stdout := &cancelling{want: "status.patch", cancel: cancel}
		code := run(ctx, append([]string{"podstep", "--socket", path}, strings.Fields(c.args)...), stdout, &stderr)
		cancel()
		if code != c.code || !strings.Contains(stderr.String(), c.err) {
			t.Errorf("%s: exit code %d, %s", c.args, code, &stderr)
		}
	}
}

// cancelling is a terminal whose user has seen enough when want is printed.
type cancelling struct {
	bytes.Buffer
	want   string
	cancel func()
}

func (c *cancelling) Write(b []byte) (int, error) {
	if bytes.Contains(b, []byte(c.want)) {
		c.cancel()
	}
	return c.Buffer.Write(b)
}

// TestDependencies keeps podstep small and quick to start. podstep speaks to the API server in
// terms of any resource, and links neither the kubelet nor the types of all of Kubernetes'
// clients.
func TestDependencies(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range strings.Fields(string(out)) {
		for _, bad := range []string{"k8s.io/kubernetes", "k8s.io/client-go/kubernetes", "k8s.io/client-go/informers", "k8s.io/kubectl"} {
			if p == bad || strings.HasPrefix(p, bad+"/") {
				t.Errorf("podstep links %s, and must not link %s", p, bad)
			}
		}
	}
}

// TestOtherSystems: podstep for a system without kubelets links none of the packages that are
// for Linux alone.
func TestOtherSystems(t *testing.T) {
	const ours = "github.com/podstep/podstep/"
	linux := []string{"agent", "agent/attach", "probes/cri", "probes/hook", "probes/kubelets"}
	for _, goos := range []string{"darwin", "windows"} {
		cmd := exec.Command("go", "list", "-deps", ".")
		cmd.Env = append(os.Environ(), "GOOS="+goos, "CGO_ENABLED=0")
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(out), ours+"probes/reasons\n") {
			t.Errorf("podstep for %s does not know the words of reasons", goos)
		}
		for _, p := range strings.Fields(string(out)) {
			own, is := strings.CutPrefix(p, ours)
			for _, bad := range linux {
				if is && (own == bad || bad != "agent" && strings.HasPrefix(own, bad+"/")) {
					t.Errorf("podstep for %s links %s", goos, own)
				}
			}
		}
	}
}

func TestDocs(t *testing.T) {
	const dir = "../../docs/cli"
	pages := docPages((&app{name: "podstep", where: &where{}}).root())
	for name, want := range pages {
		got, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is stale (%v); run go generate ./cmd/podstep", name, err)
		}
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if pages[f.Name()] == nil {
			t.Errorf("%s/%s is about a command that is not there; delete it", dir, f.Name())
		}
	}
}
