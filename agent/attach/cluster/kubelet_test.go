package cluster

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podstep/podstep/agent/kubeport"
)

func podList(tb testing.TB, pods ...v1.Pod) []byte {
	b, err := json.Marshal(v1.PodList{Items: pods})
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

func newReader() *poll { return newPoll(&kubeport.Port{}, nil, Options{}) }

func TestRead(t *testing.T) {
	two := podList(t, *namedPod("a"), *namedPod("b"))
	for _, c := range []struct {
		name, text string
		pods       int
		err        string
	}{
		{"two", string(two), 2, ""},
		{"none, as a kubelet says it", `{"kind":"PodList","apiVersion":"v1","metadata":{},"items":null}`, 0, ""},
		{"an empty list", `{"items":[]}`, 0, ""},
		{"fields after it", `{"items":[{"metadata":{"uid":"a"}}],"metadata":{}}`, 1, ""},
		{"breaks off in a pod", string(two[:len(two)-40]), 0, "unexpected EOF"},
		{"breaks off between pods", `{"items":[{"metadata":{"uid":"a"}},`, 0, "EOF"},
		{"breaks off before them", `{"kind":`, 0, "unexpected EOF"},
		{"empty", ``, 0, "unexpected EOF"},
		{"a page", `<html>`, 0, "invalid character"},
		{"a list of something else", `[1,2]`, 0, "no list of objects"},
		{"pods that are none", `{"items":[1]}`, 0, "cannot unmarshal"},
		{"items that are none", `{"items":{}}`, 0, "no list of objects"},
		{"no items", `{"kind":"Status"}`, 0, "no list of objects"},
	} {
		t.Run(c.name, func(t *testing.T) {
			pods, _, err := newReader().read(strings.NewReader(c.text))
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("%d pods, error %v; want %s", len(pods), err, c.err)
				}
				return
			}
			if err != nil || len(pods) != c.pods {
				t.Errorf("%d pods, error %v; want %d", len(pods), err, c.pods)
			}
		})
	}
}

// TestReadAgain: a pod that has not changed stays the same object.
func TestReadAgain(t *testing.T) {
	p := newReader()
	first, kept, err := p.read(bytes.NewReader(podList(t, *namedPod("a"), *namedPod("b"))))
	if err != nil {
		t.Fatal(err)
	}
	p.last = kept
	changed := *with(namedPod("b"), func(p *v1.Pod) { p.Status.Phase = v1.PodRunning })
	again, kept, err := p.read(bytes.NewReader(podList(t, changed, *namedPod("a"))))
	if err != nil {
		t.Fatal(err)
	}
	if again[1] != first[0] || again[0] == first[1] || again[0].Status.Phase != v1.PodRunning {
		t.Error("what is the same is read anew, or what changed is not")
	}
	if len(kept) != 2 {
		t.Errorf("%d pods are kept", len(kept))
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"kind":"PodList","items":null}`))
	f.Add(podList(f, *namedPod("a"), *kubeletPod()))
	f.Add([]byte(`{"items":[{"metadata":{"uid":"x"},"status":{"containerStatuses":[{"state":{}}]}}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		b := &book{t: t}
		b.ledger = newLedger(Options{Report: func(s Report) { b.reports = append(b.reports, s) }, Note: func(string, error) {}})
		b.await(0)
		p := newReader()
		pods, _, err := p.read(bytes.NewReader(text))
		if err != nil && pods != nil {
			t.Error("pods of a list that cannot be read")
		}
		b.list(pods, true)
		for _, s := range b.reports {
			line(t, s)
		}
		b.list(nil, false)
		if len(b.pods) != 0 {
			t.Error("pods that are gone are remembered")
		}
	})
}

func crowd(n int) []v1.Pod {
	pods := make([]v1.Pod, n)
	for i := range pods {
		pods[i] = *namedPod(fmt.Sprint("pod-", i))
		pods[i].UID = types.UID(fmt.Sprint(i))
		c := &pods[i].Spec.Containers[0]
		for k := range 40 {
			c.Env = append(c.Env, v1.EnvVar{Name: fmt.Sprint("VARIABLE_", k), Value: strings.Repeat("x", 60)})
		}
	}
	return pods
}

// BenchmarkRead reads a kubelet's list of pods of which a hundredth has changed.
func BenchmarkRead(b *testing.B) {
	for _, n := range []int{100, 1000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			pods := crowd(n)
			before := podList(b, pods...)
			for i := 0; i < n; i += 100 {
				pods[i].Status.Phase = v1.PodRunning
			}
			after := podList(b, pods...)
			p := newReader()
			_, kept, err := p.read(bytes.NewReader(before))
			if err != nil {
				b.Fatal(err)
			}
			p.last = kept
			b.SetBytes(int64(len(after)))
			for b.Loop() {
				if _, _, err := p.read(bytes.NewReader(after)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
