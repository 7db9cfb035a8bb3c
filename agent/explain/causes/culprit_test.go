package causes

import (
	"testing"

	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/probes/words"
)

// TestCulprit: the first culprit whose arguments are all known counts, and nobody is a culprit of itself.
func TestCulprit(t *testing.T) {
	pod, node := evidence.Name{Namespace: "shop", Name: "web"}, evidence.Name{Kind: evidence.KindNode, Name: "n1"}
	for _, c := range []struct {
		of    evidence.Name
		cause string
		args  Args
		want  string
	}{
		{pod, "volumes.multiAttach", Args{"namespace": "shop", "holderPod": "old", "holderNode": "n2"}, "pod shop/old"},
		{pod, "volumes.multiAttach", Args{"namespace": "shop", "holderNode": "n2"}, "node n2"},
		{pod, "volumes.multiAttach", Args{"namespace": "shop"}, ""},
		{pod, "image.pullQueued", Args{"behind": "shop/large"}, "pod shop/large"},
		{pod, "image.pullQueued", Args{"behind": "pod 9c1f-77"}, ""}, // of which only the UID is known
		{pod, "image.pullQueued", Args{"behind": "shop/web"}, ""},
		{pod, "node.plegUnhealthy", Args{"node": "n1"}, "node n1"},
		{node, "node.plegUnhealthy", Args{"node": "n1"}, ""},
		{pod, "start.crashes", Args{"namespace": "shop", "node": "n1"}, ""},
	} {
		r := &Report{Pod: c.of, Findings: []Finding{{Cause: Named(c.cause), Args: c.args}}}
		r.nameCulprits()
		got := ""
		if by := r.Findings[0].Culprit; by != nil {
			got = by.In(words.English)
		}
		if got != c.want {
			t.Errorf("%s of %s with %v: the culprit is %q, want %q", c.cause, c.of, c.args, got, c.want)
		}
	}
}

// TestVictims: other pods with the same culprit are victims, and the first finding says so.
func TestVictims(t *testing.T) {
	driver, other := &Culprit{Kind: "driver", Name: "csi.example.com"}, &Culprit{Kind: "driver", Name: "dra.example.com"}
	r := &Report{Pod: evidence.Name{Namespace: "shop", Name: "web", UID: "u"}, Findings: []Finding{
		{Cause: Named("volumes.driverSilent"), Culprit: driver}, {Cause: Named("volumes.waiting"), Culprit: driver},
	}}
	names := func() (texts []string) {
		for i := range r.Findings {
			for _, fact := range r.Facts(&r.Findings[i], words.English) {
				if fact.Label == "others" {
					texts = append(texts, fact.Text)
				}
			}
		}
		return texts
	}
	r.AddVictim(r.Pod, driver)
	r.AddVictim(evidence.Name{Namespace: "shop", Name: "well"}, nil)
	r.AddVictim(evidence.Name{Namespace: "shop", Name: "slow"}, other)
	if got := names(); got != nil {
		t.Errorf("without another victim it says %q", got)
	}
	for i := range maxVictims + 2 {
		r.AddVictim(evidence.Name{Namespace: "shop", Name: string(rune('a' + i))}, &Culprit{Kind: driver.Kind, Name: driver.Name})
		var want string
		switch i {
		case 0:
			want = "shop/a waits for it too"
		case 1:
			want = "shop/a, shop/b wait for it too"
		case maxVictims + 1:
			want = "shop/a, shop/b, shop/c, shop/d, shop/e and 2 more wait for it too"
		default:
			continue
		}
		if got := names(); len(got) != 1 || got[0] != want {
			t.Errorf("with %d victims it says %q, want %q", i+1, got, want)
		}
	}
	// Without a culprit nobody is a victim.
	none := &Report{Pod: r.Pod, Findings: []Finding{{Cause: Named("start.crashes")}}}
	none.AddVictim(evidence.Name{Namespace: "shop", Name: "a"}, driver)
	if none.Victims != nil {
		t.Errorf("without a culprit the victims are %v", none.Victims)
	}
}

// TestCulpritNames: a name without an argument, or of an unknown kind, is refused when the table is read.
func TestCulpritNames(t *testing.T) {
	for _, bad := range []CulpritName{{"pod", "shop/web"}, {"person", "{pod}"}, {}} {
		if bad.check() == nil {
			t.Errorf("%+v is accepted", bad)
		}
	}
}
