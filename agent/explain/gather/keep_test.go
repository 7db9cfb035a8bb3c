package gather

import (
	"strings"
	"testing"
	"time"

	"github.com/podstep/podstep/probes/klog"
)

// TestKeptLines: of the kubelet's log the values that name things are kept, and errors. Of the runtime's log messages
// and errors are.
func TestKeptLines(t *testing.T) {
	const secret = "hunter2"
	text := `I1125 15:30:29.636925   20813 kubelet.go:2709] "SyncLoop ADD" source="api" pods=["default/web"]
I1125 15:30:29.700000   20813 kuberuntime_manager.go:1] "computePodActions got for pod" podActions="Env: PASSWORD=hunter2" pod="default/web"
I1125 15:30:29.710000   20813 status_manager.go:1] "Patch status" pod="default/web" patch="{\"token\":\"hunter2\"}" podUID="u1"
E1125 15:30:29.800000   20813 pod_workers.go:1338] "Error syncing pod, skipping" err=<
	failed to "StartContainer" for "app" with ErrImagePull
 > pod="default/web" podUID="u1"
E1125 15:30:29.900000   20813 transport.go:1] "Unsolicited response starting with \"HTTP/1.1 200 OK\\r\\nhunter2\"; err=<nil>"
E1125 15:30:29.900000   20813 configmap.go:1] Couldn't get "kube-system/cfg", "hunter2 and more"
I1125 15:30:30.000000   20813 httplog.go:134] "HTTP" verb="GET" URI="/pods?token=hunter2"
E1125 15:30:30.100000   20813 prober.go:1] "Probe errored" err="password=hunter2" pod="default/web"
Nov 25 15:30:31 node-1 kubelet[20813]: I1125 15:30:31.000000   20813 kubelet.go:1] "SyncLoop DELETE" source="api" pods=["default/web"]
{"__REALTIME_TIMESTAMP":"1","MESSAGE":"I1125 15:30:32.000000   20813 kubelet.go:1] \"SyncLoop REMOVE\" source=\"api\" pods=[\"default/web\"]"}
{"ts":1795358700000,"caller":"kubelet.go:1","msg":"SyncLoop UPDATE","v":2,"source":"api","config":{"password":"hunter2"}}
time="2026-11-25T15:30:33.1Z" level=info msg="StopContainer for \"c1\" with timeout 30 (s)" env="hunter2"
time="2026-11-25T15:30:34.1Z" level=error msg="PullImage \"x\" failed" error="denied: password=hunter2"
time="2026-11-25T15:30:35.1Z" level=info msg="Started container" PID=7 containerID=bbbb description=hunter2 id=0a1b-1 name=/runtime.v1.RuntimeService/StartContainer sandboxID=aaaa
panic: hunter2
`
	got := string(keptLines([]byte(text), time.UTC))
	if strings.Contains(got, secret) {
		t.Errorf("a secret is kept:\n%s", got)
	}
	lines := strings.Split(strings.TrimSpace(got), "\n")
	for i, want := range []string{
		`"SyncLoop ADD" source="api" pods="[\"default/web\"]"`,
		`"computePodActions got for pod" podActions="<redacted>" pod="default/web"`,
		`"Patch status" pod="default/web" patch="<redacted>" podUID="u1"`,
		`"Error syncing pod, skipping" err="failed to \"StartContainer\" for \"app\" with ErrImagePull" pod="default/web" podUID="u1"`,
		`transport.go:1] "Unsolicited response starting with <redacted>; err=<nil>"`,
		`configmap.go:1] Couldn't get "kube-system/cfg", <redacted>`,
		`"Probe errored" err=`,
		`"SyncLoop DELETE" source="api"`,
		`"SyncLoop REMOVE" source="api"`,
		`"SyncLoop UPDATE" config="<redacted>" source="api"`,
		`msg="StopContainer for \"c1\" with timeout 30 (s)"`,
		`msg="PullImage \"x\" failed" error="denied: password=`,
		`msg="Started container" containerID=bbbb id=0a1b-1 name=/runtime.v1.RuntimeService/StartContainer sandboxID=aaaa`,
	} {
		if i >= len(lines) || !strings.Contains(lines[i], want) {
			t.Fatalf("line %d is not %s in\n%s", i, want, got)
		}
	}
	for _, line := range append(lines[:4:4], lines[6:10]...) { // podstep reads them again
		if e, ok := klog.Parse(line, time.Date(2026, 11, 25, 16, 0, 0, 0, time.UTC)); !ok || !e.Structured {
			t.Errorf("it cannot be read: %s", line)
		}
	}
}

// TestKeptStacks: of a dump only functions, places and states are kept.
func TestKeptStacks(t *testing.T) {
	got := string(keptStacks([]byte(`goroutine 7 [select, 3 minutes]:
k8s.io/kubernetes/pkg/kubelet.(*podWorkers).podWorkerLoop(0xc000123456, {0xc000999999, 0x24}, 0x7)
	/src/pkg/kubelet/pod_workers.go:1200 +0x1a5
main.f(...)
...additional frames elided...
created by k8s.io/kubernetes/pkg/kubelet.(*podWorkers).UpdatePod in goroutine 1
	/src/pkg/kubelet/pod_workers.go:900 +0x20

hunter2 is no line of a stack
f("hunter2")
`)))
	want := `goroutine 7 [select, 3 minutes]:
k8s.io/kubernetes/pkg/kubelet.(*podWorkers).podWorkerLoop(...)
	/src/pkg/kubelet/pod_workers.go:1200 +0x1a5
main.f(...)
...additional frames elided...
created by k8s.io/kubernetes/pkg/kubelet.(*podWorkers).UpdatePod in goroutine 1
	/src/pkg/kubelet/pod_workers.go:900 +0x20

f(...)
`
	if got != want {
		t.Errorf("got\n%s", got)
	}
}

// FuzzKept: what is kept has no bytes that a terminal obeys, and stacks that are kept once are kept as they are.
func FuzzKept(f *testing.F) {
	f.Add("I1125 15:30:29.636925   20813 kubelet.go:2709] \"m\" pod=\"a/b\" err=<\n\tx\n >\n")
	f.Add("time=\"2026-11-25T15:30:33.1Z\" level=info msg=\"x\" error=\"y\"\n")
	f.Add("goroutine 7 [select]:\nmain.f(0x1)\n\t/a.go:1 +0x1\n")
	f.Fuzz(func(t *testing.T, text string) {
		lines, stacks := keptLines([]byte(text), time.UTC), keptStacks([]byte(text))
		if strings.ContainsRune(string(lines)+string(stacks), '\x1b') {
			t.Errorf("kept: %q %q", lines, stacks)
		}
		if again := keptStacks(stacks); string(again) != string(stacks) {
			t.Errorf("kept once %q, twice %q", stacks, again)
		}
	})
}
