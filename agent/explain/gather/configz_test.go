package gather

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/podstep/podstep/agent/explain/evidence"
)

const someConfig = `{"kubeletconfig":{"staticPodPath":"/etc/kubernetes/manifests","syncFrequency":"1m0s","registryPullQPS":5,` +
	`"tlsPrivateKeyFile":"/pki/key","nodeStatusUpdateFrequency":"10s","runtimeRequestTimeout":"2m0s","maxPods":110,"serializeImagePulls":true,` +
	`"evictionHard":{"memory.available":"100Mi"},"crashLoopBackOff":{"maxContainerRestartPeriod":"5m0s"},"topologyManagerPolicy":"none","cpuManagerPolicy":"static"}}`

func TestParseConfigz(t *testing.T) {
	got, _, err := parseConfigz(strings.NewReader(someConfig))
	if err != nil {
		t.Fatal(err)
	}
	yes, five := true, int32(5)
	want := &evidence.KubeletConfig{
		SerializeImagePulls: &yes, RegistryPullQPS: &five, RuntimeRequestTimeout: 2 * time.Minute, SyncFrequency: time.Minute,
		StaticPodPath: "/etc/kubernetes/manifests", MaxPods: 110, MaxContainerRestart: 5 * time.Minute, NodeStatusUpdate: 10 * time.Second,
		EvictionHard: map[string]string{"memory.available": "100Mi"}, TopologyManagerPolicy: "none", CPUManagerPolicy: "static",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v", got)
	}
	for _, text := range []string{"", "{}", "<html>", `{"kubeletconfig":{"syncFrequency":7}}`} {
		if _, _, err := parseConfigz(strings.NewReader(text)); err == nil {
			t.Errorf("%q is a configuration", text)
		}
	}
}

func FuzzConfigz(f *testing.F) {
	f.Add([]byte(someConfig))
	f.Fuzz(func(t *testing.T, b []byte) {
		if c, _, err := parseConfigz(bytes.NewReader(b)); err == nil && len(c.EvictionHard) > maxSettings {
			t.Errorf("%d settings", len(c.EvictionHard))
		}
	})
}
