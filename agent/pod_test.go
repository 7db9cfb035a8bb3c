package agent

import (
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/podstep/podstep/probes"
)

// TestMirrorRemoved: the kubelet goes on with a static pod whose mirror is
// removed, and so does the agent.
func TestMirrorRemoved(t *testing.T) {
	r := newRig(t, Options{})
	static, mirror := newPod("default", "s"), newPod("default", "s")
	static.ResourceVersion, static.Annotations = "", map[string]string{probes.AnnotationHash: string(static.UID)}
	mirror.UID, mirror.Annotations = "mirror", map[string]string{v1.MirrorPodAnnotationKey: string(static.UID)}
	for _, o := range []*v1.Pod{static, mirror} {
		_ = r.call("source.api.send", []any{[]any{o}}, nil, nil)
	}
	p := r.pods.Known(string(static.UID))
	_ = r.loop("loop.remove", []any{[]*v1.Pod{mirror}}, nil)
	r.settle()
	isNews := func(o *v1.Pod) bool { return len(r.pods.FromList([]any{o}, true)) > 0 }
	if p.Gone() || isNews(static) || !isNews(mirror) {
		t.Error("the static pod is gone with its mirror, or the mirror is not")
	}
	_ = r.loop("loop.remove", []any{[]*v1.Pod{static}}, nil)
	r.settle()
	if !p.Gone() || !isNews(static) {
		t.Error("the static pod is still there")
	}
}
