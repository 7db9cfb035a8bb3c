//go:build node

package main

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podstep/podstep/agent/labtest"
	"github.com/podstep/podstep/probes"
)

const (
	envSecret    = "k4-plain-in-the-environment"
	tokenSecret  = "k4-from-a-secret-by-envfrom"
	volumeSecret = "k4-from-a-secret-in-a-volume"
	longSecret   = "k4-one-of-many-in-a-long-value"
	pullUser     = "k4-robot"
	pullPassword = "k4-of-the-registry"
)

// talker returns a pod that reveals its secrets wherever the kubelet could pick them up: in what it prints, in what
// hooks and health probes print, and in a termination message.
func talker() *corev1.Pod {
	p := labtest.BusyboxPod("talker", "")
	run := func(name, script string) corev1.Container {
		c := p.Spec.Containers[0]
		c.Name, c.Command, c.Args = name, []string{"sh", "-c", script}, []string{"$(PLAIN)", "--password", "$(TOKEN)", "in=$(LONG)"}
		c.Env = []corev1.EnvVar{{Name: "PLAIN", Value: envSecret}, {Name: "LONG", Value: strings.Repeat(longSecret, 100)}}
		c.EnvFrom = []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "vault"}}}}
		c.VolumeMounts = []corev1.VolumeMount{{Name: "vault", MountPath: "/vault"}}
		return c
	}
	const script = "echo $PLAIN $TOKEN; cat /vault/FILE; "
	hook, probed, dying := run("hook", labtest.Sleep), run("probed", labtest.Sleep), run("dying", "("+script+") | tee /dev/termination-log; exit 1")
	exec := &corev1.ExecAction{Command: []string{"sh", "-c", script + "(" + script + ") >&2; exit 1"}}
	hook.Lifecycle = &corev1.Lifecycle{PostStart: &corev1.LifecycleHandler{Exec: exec}}
	probed.ReadinessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{Exec: exec}, PeriodSeconds: 1, FailureThreshold: 1}
	p.Spec.Containers = []corev1.Container{dying, probed, hook}
	p.Spec.Volumes = []corev1.Volume{{Name: "vault", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "vault"}}}}
	return p
}

// TestSecrets: no value of an environment variable, no data of a Secret and no token leaves the kubelet through the
// agent, however the pod fails.
func TestSecrets(t *testing.T) {
	l := shared.For(t)
	secret(t, l, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "vault"},
		StringData: map[string]string{"TOKEN": tokenSecret, "FILE": volumeSecret},
	})
	pod := l.Create(talker())
	l.Until("talker", "dead with its secrets as last words", func(p *corev1.Pod) bool {
		for _, c := range p.Status.ContainerStatuses {
			for _, s := range []corev1.ContainerState{c.State, c.LastTerminationState} {
				if s.Terminated != nil && strings.Contains(s.Terminated.Message, volumeSecret) {
					return true
				}
			}
		}
		return false
	})
	hook, probe := false, false
	untilEvent(l, pod, "failed hook and health probe", func(e probes.Event) bool {
		hook = hook || e.Step == "rt.poststart" && e.Error != ""
		probe = probe || e.Step == "probe.do" && e.Fields["container"] == "probed"
		return hook && probe
	})
	pods := l.Must("pods", "-o", "json")
	l.Delete("talker")
	l.UntilGone("talker")
	found := inOrder(t, untilOver(l, pod), []expected{
		enter("cri.CreateContainer", nil),
		exit("rt.poststart", nil),
		exit("loop.remove", nil),
	})
	if words := text(t, found[:1]); strings.Count(words, "redacted") < 3 {
		t.Errorf("the words of the container hide nothing: %s", words)
	}
	wantSilence(t, "podstep pods", pods)
	wantSilence(t, "podstep trace", l.Must("trace", "talker", "-o", "json", "--until", "deleted"))
	wantSilence(t, "podstep trace for people", l.Must("trace", "talker", "-o", "wide", "--until", "deleted"))
	wantSilence(t, "the recorder", text(t, l.Recorded()))
}

// secret creates a Secret for the duration of the test.
func secret(t *testing.T, l *labtest.Lab, s *corev1.Secret) {
	t.Helper()
	secrets := l.Client.CoreV1().Secrets("default")
	if _, err := secrets.Create(l.Context(), s, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := secrets.Delete(l.Context(), s.Name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
}

func text(t *testing.T, events []probes.Event) string {
	t.Helper()
	b, err := json.Marshal(events)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// wantSilence checks that a text has no secret, plain or in base64. It finds a service account's token by how all
// such tokens begin.
func wantSilence(t *testing.T, where, text string) {
	t.Helper()
	words := []string{"eyJhbGciOi"}
	for _, s := range []string{envSecret, tokenSecret, volumeSecret, longSecret, pullPassword} {
		words = append(words, s, strings.TrimRight(base64.StdEncoding.EncodeToString([]byte(s)), "="))
	}
	words = append(words, base64.StdEncoding.EncodeToString([]byte(pullUser+":"+pullPassword)))
	if text == "" {
		t.Errorf("%s says nothing at all", where)
	}
	for _, w := range words {
		if i := strings.Index(text, w); i >= 0 {
			t.Errorf("%s has %q: ...%s...", where, w, text[max(0, i-300):min(len(text), i+300)])
		}
	}
}
