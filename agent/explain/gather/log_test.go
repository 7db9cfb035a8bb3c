package gather

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/podstep/podstep/agent/explain/evidence"
)

const logUID = "9d52ad04-08f1-4873-996e-825e51943ca8"

// someLog comes from a kubelet v1.36.3.
const someLog = `I1122 14:44:49.949334   27384 reconciler_common.go:225] "operationExecutor.MountVolume started for volume \"c\" (UniqueName: \"kubernetes.io/configmap/9d52ad04-08f1-4873-996e-825e51943ca8-c\") pod \"nocm\" (UID: \"9d52ad04-08f1-4873-996e-825e51943ca8\") " pod="default/nocm"
E1122 14:44:49.949469   27384 configmap.go:193] Couldn't get configMap default/missing: configmap "missing" not found
E1122 14:44:49.949605   27384 nestedpendingoperations.go:348] Operation for "{volumeName:kubernetes.io/configmap/9d52ad04-08f1-4873-996e-825e51943ca8-c podName:9d52ad04-08f1-4873-996e-825e51943ca8 nodeName:}" failed. No retries permitted until 2026-11-22 14:45:05.949588431 +0000 UTC m=+63.625544865 (durationBeforeRetry 16s). Error: MountVolume.SetUp failed for volume "c"
I1122 14:44:50.000000   27384 kubelet.go:2725] "SyncLoop DELETE" source="api" pods=["default/nocm-2"]
E1122 14:44:51.000000   27384 pod_workers.go:1338] "Error syncing pod, skipping" err="unmounted volumes=[c], unattached volumes=[]: context deadline exceeded" pod="default/nocm" podUID="9d52ad04-08f1-4873-996e-825e51943ca8"
E1122 14:44:52.000000   27384 pod_workers.go:1338] "Error syncing pod, skipping" err="of one before" pod="default/nocm" podUID="11111111-08f1-4873-996e-825e51943ca8"
E1122 14:44:53.000000   27384 kubelet.go:2646] "Skipping pod synchronization" err="[container runtime is down, PLEG is not healthy: pleg was last seen active 3m0s ago; threshold is 3m0s]"
I1122 14:44:54.000000   27384 prober.go:120] "Probe failed" probeType="Readiness" pod="default/nocm" podUID="9d52ad04-08f1-4873-996e-825e51943ca8" containerName="app" probeResult="failure" output=<
	hunter2
 >
E1122 14:44:55.000000   27384 kuberuntime_container.go:327] "Failed to execute PostStartHook" err=<
	command 'sh -c echo hunter2' exited with 1: hunter2
	more hunter2
 > pod="default/nocm" podUID="9d52ad04-08f1-4873-996e-825e51943ca8" containerName="app"
W1122 14:43:00.000000   27384 kubelet.go:1] "Skipping pod synchronization" err="long ago"
panic: default/nocm
`

func logFilter(since time.Time) *filter {
	name := evidence.Name{Namespace: "default", Name: "nocm", UID: logUID}
	return &filter{of: &Subject{Name: name, Kubelet: name, Snapshot: &evidence.Snapshot{}}, since: since}
}

var logNow = time.Date(2026, 11, 22, 14, 45, 0, 0, time.UTC)

func entries(f *filter, text string) []evidence.Line {
	var out []evidence.Line
	eachEntry([]byte(text), func(entry string, at time.Time) {
		if e, ok := f.line(entry, at, logNow); ok {
			out = append(out, e)
		}
	})
	return out
}

func TestLog(t *testing.T) {
	got := entries(logFilter(logNow.Add(-time.Minute)), someLog)
	want := []struct{ where, message, err string }{
		{"reconciler_common.go:225", "operationExecutor.MountVolume started", ""},
		{"nestedpendingoperations.go:348", "Operation for", ""},
		{"pod_workers.go:1338", "Error syncing pod, skipping", "unmounted volumes=[c], unattached volumes=[]: context deadline exceeded"},
		{"kubelet.go:2646", "Skipping pod synchronization", "[container runtime is down, PLEG is not healthy: pleg was last seen active 3m0s ago; threshold is 3m0s]"},
		{"prober.go:120", "Probe failed", ""},
		{"kuberuntime_container.go:327", "Failed to execute PostStartHook", "<redacted>"},
	}
	if len(got) != len(want) {
		t.Fatalf("got %+v", got)
	}
	for i, w := range want {
		g := got[i]
		if g.Where != w.where || !strings.HasPrefix(g.Message, w.message) || g.Error != w.err || strings.Contains(g.Message+g.Error, "hunter2") {
			t.Errorf("got %+v, want %+v", g, w)
		}
		if node := strings.HasPrefix(w.message, "Skipping"); (g.UID == logUID) == node || (g.Pod == "default/nocm") == node {
			t.Errorf("of whom: %+v", g)
		}
	}
	if at := time.Date(2026, 11, 22, 14, 44, 51, 0, time.UTC); !got[2].At.Equal(at) || got[2].Level != "E" {
		t.Errorf("at %v, level %s", got[2].At, got[2].Level)
	}
}

// TestLogOfLastYear: an entry has no year.
func TestLogOfLastYear(t *testing.T) {
	e, ok := parseEntry(`E1231 23:59:59.000001    7 a.go:1] "x"`, time.Date(2027, 1, 1, 0, 0, 10, 0, time.UTC))
	if !ok || e.At.Year() != 2026 {
		t.Errorf("%+v", e)
	}
}

func TestJSONLog(t *testing.T) {
	text := `{"ts":1795358691000.5,"caller":"kubelet/pod_workers.go:1338","msg":"Error syncing pod, skipping","pod":{"name":"nocm","namespace":"default"},"podUID":"` + logUID + `","err":"no"}`
	e, ok := parseEntry(text, logNow)
	if !ok || e.Level != "E" || e.Pod != "default/nocm" || e.UID != logUID || e.Error != "no" || e.At.UnixMicro() != 1795358691000500 {
		t.Errorf("%+v", e)
	}
	if e, ok := parseEntry(`{"ts":1,"caller":"a.go:1","msg":"x","v":2}`, logNow); !ok || e.Level != "I" {
		t.Errorf("%+v", e)
	}
}

func TestJournal(t *testing.T) {
	at := time.Now().UTC().Truncate(time.Second)
	entry := func(message string) string {
		return `{"__REALTIME_TIMESTAMP":"` + strconv.FormatInt(at.UnixMicro(), 10) + `","MESSAGE":` + message + `}` + "\n"
	}
	text := entry(`"E1122 14:44:51.000000 7 a.go:1] \"Error syncing pod, skipping\" err=\"x\" pod=\"default/nocm\""`) +
		entry(`[69,49,49,50,50,32,49,52,58,52,52,58,53,49,46,48,48,48,48,48,48,32,55,32,97,46,103,111,58,50,93,32,34,80,76,69,71,255,34]`) + "nonsense\n" + entry("null")
	got := logFilter(at.Add(-time.Minute)).lines([]byte(text), time.UTC)
	if len(got) != 2 || !got[0].At.Equal(at) || got[0].Error != "x" || got[1].Where != "a.go:2" {
		t.Errorf("got %+v", got)
	}
}

func TestHasWord(t *testing.T) {
	for text, want := range map[string]bool{
		`pod="default/web"`: true, `pods=["default/web","x"]`: true, `default/web-2`: false, `default/web.x default/web`: true, `x-default/web`: false, ``: false,
	} {
		if hasWord(text, "default/web") != want {
			t.Errorf("%s: not %v", text, want)
		}
	}
}

func FuzzLog(f *testing.F) {
	f.Add(someLog)
	f.Add(`{"ts":1,"caller":"a.go:1","msg":"x default/nocm","v":2}`)
	f.Fuzz(func(t *testing.T, text string) {
		filter := logFilter(time.Time{})
		for _, l := range append(entries(filter, text), filter.lines([]byte(text), time.UTC)...) {
			if strings.ContainsAny(l.Where+l.Message+l.Error+l.Pod+l.UID, "\x1b\n") {
				t.Errorf("line %+v", l)
			}
		}
	})
}
