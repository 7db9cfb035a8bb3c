package causes

import (
	"strings"
	"testing"

	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
)

// TestReadings: a finding says what is different in the node's kubelet, and nothing if nothing is, if another program runs the
// function, or if no release is known.
func TestReadings(t *testing.T) {
	read := minorOf(probes.KubernetesVersion)
	for _, c := range []struct{ cause, kubelet, en, zh string }{
		{"start.envFile", "v1.35.0+k3s1", "", ""},
		{"start.envFile", "v1.34.2", "Different in v1.34: ParseEnv.", "在 v1.34 中不同：ParseEnv。"},
		{"start.envFile", "v1.25.0-eks-1", "Not there by this name in v1.25: ParseEnv.", "在 v1.25 中没有这个名字：ParseEnv。"},
		{"start.envFile", "v1.98.0", "It has not read v1.98.", "没有读过 v1.98。"},
		{"start.envFile", "v1.3.0", "It has not read v1.3.", "没有读过 v1.3。"},
		{"start.envFile", "", "", ""},
		{"start.envFile", "v0.0.0-master", "", ""},
		{"start.envFile", probes.KubernetesVersion, "", ""},
		{"start.volumeMissing", "v1.30.1", "Different in v1.30: makeMounts, makeBlockVolumes.", "在 v1.30 中不同：makeMounts、makeBlockVolumes。"},
		{
			"terminating.lookHangs", "v1.26.1",
			"Different in v1.26: GetPodStatus. Not there by this name in v1.26: (*Kubelet).SyncTerminatingPod.",
			"在 v1.26 中不同：GetPodStatus。在 v1.26 中没有这个名字：(*Kubelet).SyncTerminatingPod。",
		},
		{"controllers.jobFailed", "v1.25.0", "", ""}, // the controller manager's
		{"sandbox.pauseImage", "v1.98.0", "", ""},    // the runtime's
	} {
		r := Named(c.cause).readingFor(c.kubelet)
		if c.en != "" {
			c.en, c.zh = "podstep read this in "+read+". "+c.en, "podstep 读的是 "+read+"。"+c.zh
		}
		if en, zh := r.In(words.English), r.In(words.Chinese); en != c.en || zh != c.zh {
			t.Errorf("%s, kubelet %s: %q, %q", c.cause, c.kubelet, en, zh)
		}
	}
}

// TestReadingOfNode: the version is that of the node in the snapshot, and the reading stands behind the place of the code.
func TestReadingOfNode(t *testing.T) {
	compared := 0
	for file, s := range recorded(t) {
		if s.Cluster.Node == nil || !strings.Contains(file, "/start.envFile/") {
			continue
		}
		s.Cluster.Node.Status.NodeInfo.KubeletVersion = "v1.34.4"
		r := Explain(s)
		var where []string
		for _, fact := range r.Facts(&r.Findings[0], words.English) {
			if fact.Label == "where" {
				where = append(where, fact.Text)
			}
		}
		if len(where) != 2 || where[1] != r.Findings[0].Reading.In(words.English) {
			t.Errorf("%s: where is %q", file, where)
		}
		compared++
	}
	if compared == 0 {
		t.Error("no snapshot has a node")
	}
}
