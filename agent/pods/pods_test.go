package pods

import (
	"fmt"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/probes"
)

// none is the State of pods of which nothing else is kept.
type none struct{}

// A source shows all its pods each time one of them changes. Meanwhile the kubelet writes to the annotations of pods
// that it was shown before. Reading the annotations then would end the kubelet, and no recover helps. The race detector
// sees it.
func TestShownPodsAreNotRead(t *testing.T) {
	var table Table[none]
	table.Init()
	var objects []any
	var wait sync.WaitGroup
	defer wait.Wait()
	for n := range 100 {
		o := &v1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: fmt.Sprintf("pod-%d", n), UID: types.UID(fmt.Sprint(n)),
			ResourceVersion: fmt.Sprint(n + 1), Annotations: map[string]string{},
		}}
		objects = append(objects, o)
		if news := table.FromList(objects, true); len(news) != 1 || news[0].Pod.UID != string(o.UID) {
			t.Fatalf("with pod %d there are %d news", n, len(news))
		}
		wait.Go(func() {
			for range 100 {
				o.Annotations[probes.AnnotationSource] = "api"
			}
		})
	}
}

// The mirror of a static pod has a uid of its own. Both pods are news once, however often they are shown in turn.
func TestMirrorIsNewsOnce(t *testing.T) {
	var table Table[none]
	table.Init()
	static := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "s", UID: "static", Annotations: map[string]string{probes.AnnotationHash: "static"}}}
	mirror := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "s", UID: "mirror", ResourceVersion: "7", Annotations: map[string]string{v1.MirrorPodAnnotationKey: "static"}}}
	var news []Listed[none]
	for range 3 {
		news = append(news, table.FromList([]any{static}, true)...)
		news = append(news, table.FromList([]any{mirror}, true)...)
	}
	if len(news) != 2 || news[0].Pod != news[1].Pod || news[0].Pod.UID != "static" {
		t.Errorf("news of %v", news)
	}
}

// TestForgottenPod: a pod that the table has forgotten is not found among the recent pods either.
func TestForgottenPod(t *testing.T) {
	var table Table[none]
	table.Init()
	p := table.UID("uid-1")
	if table.UID("uid-1") != p || table.recent.find("uid-1") != p {
		t.Error("a pod is not found again")
	}
	p.SetGone(1)
	table.forget((*Entry[none]).Gone)
	if table.recent.find("uid-1") != nil || table.UID("uid-1") == p {
		t.Error("a pod that was forgotten is found")
	}
	if table.recent.find("") != nil || table.UID("1") == nil {
		t.Error("short uids are not looked for as others are")
	}
}

// TestForgetOld: pods that have long been gone are forgotten, with their ids, however few there are, and the table
// gives up the room for them.
func TestForgetOld(t *testing.T) {
	for _, half := range []int{1, 1000} {
		var table Table[none]
		table.Init()
		const now = int64(24 * time.Hour)
		for i := range 2 * half {
			p := table.UID(fmt.Sprint("uid-", i))
			table.Learn(fmt.Sprint("container-", i), p)
			if i%2 == 0 {
				p.SetGone(now)
			}
		}
		if more := table.ForgetOld(now); !more || len(table.byUID) != 2*half {
			t.Errorf("%d pods are known; none has been gone for long; more will be forgotten: %v", len(table.byUID), more)
		}
		const later = now + int64(forgetAfter) + int64(time.Minute)
		if more := table.ForgetOld(later); more || len(table.byUID) != half || len(table.byID) != half {
			t.Errorf("%d pods and %d containers are known, want %d; more will be forgotten: %v", len(table.byUID), len(table.byID), half, more)
		}
		for _, p := range table.All() {
			p.SetGone(now)
		}
		if more := table.ForgetOld(later); more || len(table.byUID)+len(table.byID) != 0 || table.most > 256 {
			t.Errorf("%d pods and %d containers are known, and there is room for %d", len(table.byUID), len(table.byID), table.most)
		}
	}
}

// TestCritical: pods on which the cluster may depend are critical, even while their priority is not known.
func TestCritical(t *testing.T) {
	const ordinary, static, system, unknown = agentpb.Problem_UNSPECIFIED, agentpb.Problem_CONTROL_PLANE, agentpb.Problem_SYSTEM_CRITICAL, agentpb.Problem_PRIORITY_UNKNOWN
	low, high := int32(0), int32(SystemCritical)
	object := func(namespace string, version int, priority *int32, class, hash string) *v1.Pod {
		return &v1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "p", UID: "1", ResourceVersion: fmt.Sprint(version), Annotations: map[string]string{probes.AnnotationHash: hash}},
			Spec:       v1.PodSpec{Priority: priority, PriorityClassName: class},
		}
	}
	const sys = systemNamespace
	for _, c := range []struct {
		name    string
		sandbox string // the namespace of one that is seen first
		objects []*v1.Pod
		want    agentpb.Problem_Code
	}{
		{"ordinary", "", []*v1.Pod{object("default", 1, &low, "", "")}, ordinary},
		{"without a priority", "", []*v1.Pod{object("default", 1, nil, "", "")}, ordinary},
		{"of the system, ordinary", "", []*v1.Pod{object(sys, 1, &low, "", "")}, ordinary},
		{"of the system, without a priority", "", []*v1.Pod{object(sys, 1, nil, "", "")}, unknown},
		{"of the system, known later", "", []*v1.Pod{object(sys, 1, nil, "", ""), object(sys, 2, &low, "", "")}, ordinary},
		{"of the system, known before", "", []*v1.Pod{object(sys, 1, &low, "", ""), object(sys, 2, nil, "", "")}, ordinary},
		{"of the system, critical before", "", []*v1.Pod{object(sys, 1, &high, "", ""), object(sys, 2, nil, "", "")}, system},
		{"of the system, by its sandbox", sys, nil, unknown},
		{"of the system, by its sandbox, known later", sys, []*v1.Pod{object(sys, 1, &low, "", "")}, ordinary},
		{"of the system, by its sandbox, critical", sys, []*v1.Pod{object(sys, 1, &high, "", "")}, system},
		{"ordinary, by its sandbox", "default", nil, ordinary},
		{"by class alone", "", []*v1.Pod{object("default", 1, nil, "system-node-critical", "")}, system},
		{"static", "", []*v1.Pod{object(sys, 1, nil, "", "1")}, static},
		{"static, its mirror has a priority", "", []*v1.Pod{object(sys, 1, nil, "", "1"), object(sys, 2, &low, "", "")}, static},
	} {
		var table Table[none]
		table.Init()
		p := table.UID("1")
		if c.sandbox != "" {
			p = table.Sandbox(&runtimeapi.PodSandboxConfig{Metadata: &runtimeapi.PodSandboxMetadata{Namespace: c.sandbox, Name: "p", Uid: "1"}})
		}
		for _, o := range c.objects {
			p = table.Object(o)
		}
		if got := p.Critical().GetCode(); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	var table Table[none]
	table.Init()
	p := table.UID("2")
	p.Name(sys, "named")
	if got := p.Critical().GetCode(); got != unknown {
		t.Errorf("of the system, known by name alone: %s", got)
	}
}
