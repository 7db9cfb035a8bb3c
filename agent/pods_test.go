package agent

import (
	"fmt"
	"sync"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// A source shows all its pods each time one of them changes, while the kubelet
// writes to the annotations of those that it was shown before. Reading them
// then would end the kubelet, and no recover helps. The race detector sees it.
func TestShownPodsAreNotRead(t *testing.T) {
	var table podTable
	table.init()
	var objects []any
	var wait sync.WaitGroup
	defer wait.Wait()
	for n := range 100 {
		o := &v1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: fmt.Sprintf("pod-%d", n), UID: types.UID(fmt.Sprint(n)),
			ResourceVersion: fmt.Sprint(n + 1), Annotations: map[string]string{},
		}}
		objects = append(objects, o)
		if news := table.fromList(objects, true); len(news) != 1 || news[0].pod.uid != string(o.UID) {
			t.Fatalf("with pod %d there are %d news", n, len(news))
		}
		wait.Go(func() {
			for range 100 {
				o.Annotations[annotationSource] = "api"
			}
		})
	}
}

// The mirror of a static pod has a uid of its own, and each of both is news
// once, however often they are shown in turn.
func TestMirrorIsNewsOnce(t *testing.T) {
	var table podTable
	table.init()
	static := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "s", UID: "static", Annotations: map[string]string{annotationHash: "static"}}}
	mirror := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "s", UID: "mirror", ResourceVersion: "7", Annotations: map[string]string{annotationMirror: "static"}}}
	var news []listed
	for range 3 {
		news = append(news, table.fromList([]any{static}, true)...)
		news = append(news, table.fromList([]any{mirror}, true)...)
	}
	if len(news) != 2 || news[0].pod != news[1].pod || news[0].pod.uid != "static" {
		t.Errorf("news of %v", news)
	}
}

// TestMirrorRemoved: the kubelet goes on with a static pod whose mirror is
// removed, and so does the agent.
func TestMirrorRemoved(t *testing.T) {
	r := newRig(t, Options{})
	static, mirror := newPod("default", "s"), newPod("default", "s")
	static.ResourceVersion, static.Annotations = "", map[string]string{annotationHash: string(static.UID)}
	mirror.UID, mirror.Annotations = "mirror", map[string]string{annotationMirror: string(static.UID)}
	for _, o := range []*v1.Pod{static, mirror} {
		_ = r.call("source.api.send", []any{[]any{o}}, nil, nil)
	}
	p := r.pods.known(string(static.UID))
	_ = r.loop("loop.remove", []any{[]*v1.Pod{mirror}}, nil)
	r.settle()
	if p.gone() || !r.pods.wasShown(static) || r.pods.wasShown(mirror) {
		t.Error("the static pod is gone with its mirror, or the mirror is not")
	}
	_ = r.loop("loop.remove", []any{[]*v1.Pod{static}}, nil)
	r.settle()
	if !p.gone() || r.pods.wasShown(static) {
		t.Error("the static pod is still there")
	}
}
