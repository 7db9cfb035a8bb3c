package attach

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/cri"
	"github.com/podstep/podstep/probes/cri/relay"
	"github.com/podstep/podstep/probes/kubelets"
)

// Of every step it is known whether it is seen and, if not, why.
func TestAbilities(t *testing.T) {
	c := probes.MustLoad()
	const why = "nobody answers"
	for name, missing := range map[string]map[probes.Witness]string{
		"all are there": {},
		"no API server": {probes.ByAPI: why},
		"nobody":        {probes.ByAPI: why, probes.ByKubelet: why},
	} {
		t.Run(name, func(t *testing.T) {
			seen, unseen, noHold := abilities(c, missing)
			for i := range c.Steps {
				s := &c.Steps[i]
				if seen[s.Name] == (unseen[s.Name] != "") {
					t.Errorf("%s is seen: %v, and is not because %q", s.Name, seen[s.Name], unseen[s.Name])
				}
				if _, gone := missing[s.Seen]; s.Outside() && seen[s.Name] == gone {
					t.Errorf("%s, told by %s, is seen: %v", s.Name, s.Seen, seen[s.Name])
				}
				if s.Stage == "cri" && cri.OfStep(s.Name) != nil && !seen[s.Name] {
					t.Errorf("%s is not seen", s.Name)
				}
				if noHold[s.Name] != "" && !seen[s.Name] {
					t.Errorf("%s cannot be held because %q, and is not even seen", s.Name, noHold[s.Name])
				}
			}
			if noHold["cri.PodSandboxStatus"] == "" || noHold["cri.RunPodSandbox"] != "" {
				t.Errorf("who may not be held: %v", noHold)
			}
		})
	}
}

func TestEndpoints(t *testing.T) {
	for _, test := range []struct {
		runtime, image string
		want           string
	}{
		{"/run/a.sock", "/run/a.sock", "/run/a.sock"},
		{"/run/a.sock", "", "/run/a.sock"},
		{"/run/a.sock", "/run/b.sock", "/run/a.sock /run/b.sock"},
		{"", "/run/b.sock", "/run/b.sock"},
		{"", "", ""},
	} {
		k := kubelets.Kubelet{RuntimeEndpoint: test.runtime, ImageEndpoint: test.image}
		if got := strings.Join(endpoints(&k), " "); got != test.want {
			t.Errorf("%q and %q: got %q, want %q", test.runtime, test.image, got, test.want)
		}
	}
}

// TestEndpointsByLink: two names of one socket are taken over once.
func TestEndpointsByLink(t *testing.T) {
	root := t.TempDir()
	for _, err := range []error{
		os.MkdirAll(root+"/run", 0o755), os.WriteFile(root+"/run/a.sock", nil, 0o600), os.WriteFile(root+"/run/b.sock", nil, 0o600),
		os.Symlink("/run", root+"/var"),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for image, want := range map[string]string{"/var/a.sock": "/run/a.sock", "/var/b.sock": "/run/a.sock /var/b.sock"} {
		k := kubelets.Kubelet{Root: root, RuntimeEndpoint: "/run/a.sock", ImageEndpoint: image}
		if got := strings.Join(endpoints(&k), " "); got != want {
			t.Errorf("with %s: got %q, want %q", image, got, want)
		}
	}
}

// The kubelet's pid may be another process's after its end.
func TestIsKubelet(t *testing.T) {
	pid := os.Getpid()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	started, err := strconv.ParseUint(fields[19], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	s := &Session{o: Options{Kubelet: kubelets.Kubelet{PID: pid, Started: started, Root: fmt.Sprintf("/proc/%d/root", pid)}}}
	if !s.isKubelet(pid) || s.isKubelet(os.Getppid()) {
		t.Error("the kubelet is not known by its pid alone, or others are taken for it")
	}
	s.o.Kubelet.Started--
	if s.isKubelet(pid) {
		t.Error("a later process is taken for the kubelet")
	}
}

func TestAddress(t *testing.T) {
	for _, test := range []struct {
		host string
		port int
		want string
	}{
		{"10.0.0.7", 10250, "10.0.0.7:10250"},
		{"", 10250, "127.0.0.1:10250"},
		{"0.0.0.0", 10250, "127.0.0.1:10250"},
		{"::", 10250, "127.0.0.1:10250"},
		{"fd00::7", 10250, "[fd00::7]:10250"},
		{"10.0.0.7", 0, ""},
	} {
		if got := address(test.host, test.port); got != test.want {
			t.Errorf("%q, %d: got %q, want %q", test.host, test.port, got, test.want)
		}
	}
}

func TestList(t *testing.T) {
	now := time.Now()
	call := func(method string, age time.Duration) relay.Call {
		return relay.Call{Method: method, Began: now.Add(-age)}
	}
	got := list([]relay.Call{
		call("/runtime.v1.RuntimeService/StopContainer", 1600*time.Millisecond),
		call("/runtime.v1.ImageService/PullImage", 3*time.Minute-400*time.Millisecond),
	})
	if want := "PullImage for 3m0s, StopContainer for 2s"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	many := make([]relay.Call, 5)
	if got := list(many); !strings.HasSuffix(got, ", and 2 more") {
		t.Errorf("five calls are listed as %q", got)
	}
}
