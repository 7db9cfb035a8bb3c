//go:build sim

package stuck

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/client"
	"github.com/podstep/podstep/agent/explain/causes"
	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/agent/labtest"
)

// moments is how often TestSurfacesAgree looks, and between how long it waits meanwhile.
const (
	moments = 10
	between = 9 * time.Second
)

// TestSurfacesAgree: of thirty workloads, most of them broken, `podstep pods` and `podstep why` have the same state with the
// same clock at each of ten moments; the clock of a pod that nothing moves goes on; and `why` from the API server alone never says that a
// pod runs or has ended that the agent calls stuck, or the other way round.
func TestSurfacesAgree(t *testing.T) {
	t.Parallel()
	onOwn.claim(t)
	e := newEnv(t, labtest.StartSim(t), "surfaces")
	names := e.brokenPods()
	c, err := client.Dial(t.Context(), e.State.Agent)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	s := &surfaces{e: e, agent: c, was: map[string]*agentpb.PodState{}, states: map[string]int{}}
	for i := range moments {
		for _, name := range names {
			s.compare(t, name, i == moments-1)
		}
		<-time.After(between) // the states go on meanwhile
	}
	t.Logf("states met: %v", s.states)
	if len(s.states) < 4 {
		t.Errorf("only these states were met: %v", s.states)
	}
}

// surfaces compares what the surfaces say.
type surfaces struct {
	e      *Env
	agent  *client.Client
	was    map[string]*agentpb.PodState
	states map[string]int
}

// listed returns what `podstep pods` says of a pod; nil: it does not list the pod.
func (s *surfaces) listed(t *testing.T, name string) *agentpb.PodState {
	t.Helper()
	got, err := s.agent.Pods(t.Context(), &agentpb.PodsRequest{Pods: &agentpb.PodSelector{Namespace: s.e.Namespace, Name: name}})
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Pods) == 0 {
		return nil
	}
	return got.Pods[0]
}

// unmoved are the workloads that nothing moves once they wait. Containers of others are started again.
var unmoved = map[string]bool{"init-waits": true, "not-ready": true, "runs": true, "kept": true}

// apart is by how much two clocks of one state may differ that are read one after the other.
const apart = 2 * time.Second

// compare asks `podstep pods` before and after `why`. The pod may come into another state meanwhile.
func (s *surfaces) compare(t *testing.T, name string, last bool) {
	t.Helper()
	pod := evidence.Name{Namespace: s.e.Namespace, Name: name}
	before := s.listed(t, name)
	near := causes.Explain(simSources(t, s.e.Lab, Woven).Pod(t.Context(), pod))
	after := s.listed(t, name)
	if before == nil || after == nil {
		return // nobody on this node knows it
	}
	s.states[near.Word()]++
	same := func(p *agentpb.PodState) bool {
		return p.State == near.Word() && near.Since.Sub(p.Since.AsTime()).Abs() < apart
	}
	if !same(before) && !same(after) {
		t.Errorf("%s: pods says %s since %v, then %s since %v, and why %s since %v", name,
			before.State, before.Since.AsTime(), after.State, after.Since.AsTime(), near.Word(), near.Since)
	}
	if was := s.was[name]; was != nil && unmoved[name] && was.State == after.State && !after.Since.AsTime().Equal(was.Since.AsTime()) {
		t.Errorf("%s: it was %s since %v, and is since %v", name, was.State, was.Since.AsTime(), after.Since.AsTime())
	}
	s.was[name] = after
	if !last {
		return
	}
	s.compareFar(t, name, pod)
}

// compareFar compares what the agent and the API server alone say. The API server learns a moment later what became of a
// container, and one that ends again and again has another state by then: so both are asked several times.
func (s *surfaces) compareFar(t *testing.T, name string, pod evidence.Name) {
	t.Helper()
	well := []string{"running", "done"}
	var states []string
	for range 5 {
		far := causes.Explain(simSources(t, s.e.Lab, API).Pod(t.Context(), pod))
		near := s.listed(t, name)
		if near == nil || slices.Contains(well, far.Word()) == slices.Contains(well, near.State) {
			return
		}
		states = append(states, far.Word()+" and "+near.State)
		<-time.After(time.Second)
	}
	t.Errorf("%s: by the API server alone and by the agent it is %v", name, states)
}

// brokenPods makes the workloads and returns their names.
func (e *Env) brokenPods() (names []string) {
	add := func(name, script string, change func(*corev1.Pod, *corev1.Container)) {
		p := labtest.BusyboxPod(name, script)
		if change != nil {
			change(p, &p.Spec.Containers[0])
		}
		e.Pod(p)
		names = append(names, name)
	}
	for _, code := range []int{0, 1, 2, 7, 127, 137, 139, 143} {
		add(fmt.Sprintf("exits-%d", code), fmt.Sprintf("sleep 3; exit %d", code), nil)
	}
	for _, policy := range []corev1.RestartPolicy{corev1.RestartPolicyNever, corev1.RestartPolicyOnFailure} {
		for _, code := range []int{0, 3} {
			add(fmt.Sprintf("ends-%s-%d", map[corev1.RestartPolicy]string{"Never": "never", "OnFailure": "on-failure"}[policy], code), fmt.Sprintf("sleep 1; exit %d", code),
				func(p *corev1.Pod, _ *corev1.Container) { p.Spec.RestartPolicy = policy })
		}
	}
	add("runs", labtest.Sleep, nil)
	add("once", "if [ -e /once ]; then sleep 3600; fi; touch /once; exit 9", nil)
	add("no-image", labtest.Sleep, func(_ *corev1.Pod, c *corev1.Container) { c.Image = "registry.example/not/there:1" })
	add("never-pull", labtest.Sleep, func(_ *corev1.Pod, c *corev1.Container) {
		c.Image, c.ImagePullPolicy = "registry.example/not/there:2", corev1.PullNever
	})
	add("bad-name", labtest.Sleep, func(_ *corev1.Pod, c *corev1.Container) { c.Image = "UPPER/CASE" })
	add("no-command", "", func(_ *corev1.Pod, c *corev1.Container) { c.Command = []string{"/not/there"} })
	for _, name := range []string{"config", "secret"} {
		add("no-"+name+"-volume", labtest.Sleep, func(p *corev1.Pod, _ *corev1.Container) {
			v := corev1.Volume{Name: "v"}
			if name == "config" {
				v.ConfigMap = &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "none"}}
			} else {
				v.Secret = &corev1.SecretVolumeSource{SecretName: "none"}
			}
			p.Spec.Volumes = append(p.Spec.Volumes, v)
		})
		add("no-"+name+"-env", labtest.Sleep, func(_ *corev1.Pod, c *corev1.Container) {
			from := &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "none"}, Key: "k"}}
			if name == "secret" {
				from = &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "none"}, Key: "k"}}
			}
			c.Env = []corev1.EnvVar{{Name: "A", ValueFrom: from}}
		})
	}
	init := func(script string) func(*corev1.Pod, *corev1.Container) {
		return func(p *corev1.Pod, c *corev1.Container) {
			p.Spec.InitContainers = []corev1.Container{{Name: "init", Image: c.Image, Command: []string{"sh", "-c", script}}}
		}
	}
	add("init-fails", labtest.Sleep, init("exit 3"))
	add("init-waits", labtest.Sleep, init(labtest.Sleep))
	fails := &corev1.Probe{ProbeHandler: corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(9)}}, PeriodSeconds: 2, FailureThreshold: 2}
	add("not-ready", labtest.Sleep, func(_ *corev1.Pod, c *corev1.Container) { c.ReadinessProbe = fails })
	add("not-alive", labtest.Sleep, func(_ *corev1.Pod, c *corev1.Container) { c.LivenessProbe = fails })
	add("not-started", labtest.Sleep, func(_ *corev1.Pod, c *corev1.Container) { c.StartupProbe = fails })
	add("run-as-root", labtest.Sleep, func(_ *corev1.Pod, c *corev1.Container) {
		yes, root := true, int64(0)
		c.SecurityContext = &corev1.SecurityContext{RunAsNonRoot: &yes, RunAsUser: &root}
	})
	add("too-large", labtest.Sleep, func(p *corev1.Pod, c *corev1.Container) {
		p.Spec.NodeName = e.State.Node // no scheduler is asked; the kubelet refuses it
		c.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("999")}
	})
	add("no-node", labtest.Sleep, func(p *corev1.Pod, _ *corev1.Container) { p.Spec.NodeSelector = map[string]string{"none": "such"} })
	add("kept", labtest.Sleep, func(p *corev1.Pod, _ *corev1.Container) { p.Finalizers = []string{"example.com/keep"} })
	if err := e.Client.CoreV1().Pods(e.Namespace).Delete(e.Context(), "kept", metav1.DeleteOptions{}); err != nil {
		e.T.Fatal(err)
	}
	e.T.Cleanup(func() {
		_, _ = e.Client.CoreV1().Pods(e.Namespace).Patch(e.T.Context(), "kept", "application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	})
	return names
}
