package logstory

import (
	"slices"
	"testing"
	"time"

	"github.com/podstep/podstep/probes/klog"
)

// TestOldValues: values are read as kubelets of v1.25 print them, and as later ones do.
func TestOldValues(t *testing.T) {
	const head = "I1128 00:46:13.805065    9978 kubelet.go:2134] "
	value := func(line, key string) string {
		e, ok := klog.Parse(head+line, time.Now())
		if !ok {
			t.Fatalf("%s is no line of a log", line)
		}
		return e.Text(key)
	}
	for line, want := range map[string][]string{
		`"SyncLoop ADD" source="api" pods=[default/web kube-system/dns-5]`:          {"default/web", "kube-system/dns-5"},
		`"SyncLoop ADD" source="api" pods=["default/web","kube-system/dns-5"]`:      {"default/web", "kube-system/dns-5"},
		`"SyncLoop ADD" source="file" pods=[]`:                                      nil,
		`"SyncLoop ADD" source="api" pods="default/web"`:                            nil,
		`"SyncLoop ADD" source="api" pods=[default/web`:                             nil,
		`"SyncLoop ADD" source="api" pods=[default/web] more="[not/this not/that]"`: {"default/web"},
	} {
		if got := namesIn(value(line, "pods")); !slices.Equal(got, want) {
			t.Errorf("%s has the pods %q, want %q", line, got, want)
		}
	}
	for line, want := range map[string]plegEvent{
		`"SyncLoop (PLEG): event for pod" pod="a/b" event=&{ID:51756abf-7d22 Type:ContainerStarted Data:f189c431}`:         {"ContainerStarted", "f189c431"},
		`"SyncLoop (PLEG): event for pod" pod="a/b" event={"ID":"51756abf-7d22","Type":"ContainerDied","Data":"f189c431"}`: {"ContainerDied", "f189c431"},
		`"SyncLoop (PLEG): event for pod" pod="a/b" event=&{ID: Type: Data:}`:                                              {},
	} {
		if got, ok := readPLEGEvent(value(line, "event")); got != want || ok != (want != plegEvent{}) {
			t.Errorf("%s is the event %q, %v", line, got, ok)
		}
	}
}
