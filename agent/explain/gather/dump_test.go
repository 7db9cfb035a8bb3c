package gather

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/podstep/podstep/agent/explain/evidence"
)

// recorded is the dump of a kubelet v1.36.3 with three pods: one whose preStop hook
// hangs, one whose postStart hook hangs, and one whose ConfigMap is missing.
func recorded(tb testing.TB) []byte {
	tb.Helper()
	b, err := os.ReadFile("testdata/dump-v1.36.3.txt")
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

const (
	stopping = "11111111-1111-4111-8111-111111111111" // goroutines 561 and its child
	hooked   = "22222222-2222-4222-8222-222222222222" // goroutine 541
	waiting  = "33333333-3333-4333-8333-333333333333" // goroutine 545
)

// inMemory returns the texts of the kubelet's memory at the places that the dump's arguments name.
func inMemory(t text) string {
	return map[uint64]string{0xa0bd5050ba0: stopping, 0xa0bd5034120: hooked, 0xa0bd5035b00: waiting}[t.at]
}

func TestParseDump(t *testing.T) {
	all, err := parseDump(bytes.NewReader(recorded(t)))
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[routineKind]int{}
	for _, r := range all {
		kinds[r.kind]++
	}
	if kinds[ofNode] < 6 || kinds[ofPod] != 4 || kinds[ofNobody] != 0 {
		t.Errorf("kinds %v", kinds)
	}
	i := slices.IndexFunc(all, func(r routine) bool { return r.ID == 541 })
	if i < 0 {
		t.Fatal("no goroutine 541")
	}
	hook := all[i]
	if hook.State != "select" || hook.uid != (text{0xa0bd5034120, 0x24}) {
		t.Errorf("state %q, uid %+v", hook.State, hook.uid)
	}
	at := func(name string) int { return slices.Index(hook.Frames, name) }
	inner, outer := at("k8s.io/kubernetes/pkg/kubelet/lifecycle.(*handlerRunner).Run"), at("k8s.io/kubernetes/pkg/kubelet.(*Kubelet).SyncPod")
	if inner < 0 || outer < inner {
		t.Errorf("frames %q", hook.Frames)
	}
	if last := hook.Frames[len(hook.Frames)-1]; last != "created by k8s.io/kubernetes/pkg/kubelet.(*podWorkers).UpdatePod" {
		t.Errorf("last %q", last)
	}
}

func TestHeader(t *testing.T) {
	for _, c := range []struct {
		line, state string
		id          int64
		waits       time.Duration
		ok          bool
	}{
		{"goroutine 7 [select]:", "select", 7, 0, true},
		{"goroutine 561 [sync.WaitGroup.Wait, 12 minutes, locked to thread]:", "sync.WaitGroup.Wait", 561, 12 * time.Minute, true},
		{"goroutine 1 gp=0xc000002380 m=nil [chan receive (nil chan), 1 minutes]:", "chan receive (nil chan)", 1, time.Minute, true},
		{"goroutine x [select]:", "", 0, 0, false},
		{"goroutine 9", "", 0, 0, false},
	} {
		r, ok := parseHeader(c.line)
		if ok != c.ok || ok && (r.ID != c.id || r.State != c.state || r.Waits != c.waits) {
			t.Errorf("%s: %+v, %v", c.line, r.Goroutine, ok)
		}
	}
}

func TestOwners(t *testing.T) {
	all, err := parseDump(bytes.NewReader(recorded(t)))
	if err != nil {
		t.Fatal(err)
	}
	three := []podOf{{stopping, true, true}, {hooked, false, false}, {waiting, false, false}}
	for _, c := range []struct {
		name, uid string
		pods      []podOf
		read      memory
		ids       []int64 // of the pods' goroutines
		pod       string
		doubtful  int
	}{
		{"read in memory", hooked, three, inMemory, []int64{541}, hooked, 0},
		{"with what its worker began", stopping, three, inMemory, []int64{561, 628}, stopping, 0},
		{"not read, it alone ends", stopping, []podOf{{stopping, true, true}}, nil, nil, "", 4},
		{"not read, it alone starts", hooked, []podOf{{stopping, false, true}, {hooked, false, false}}, nil, nil, "", 2},
		{"not read, several fit", hooked, three, nil, nil, "", 2},
		{"nothing but another pod's", "44444444-4444-4444-8444-444444444444", three, inMemory, nil, "", 0},
		{"memory that was used anew", hooked, three, func(text) string { return strings.Repeat("x", 0x24) }, nil, "", 2},
		{"pods are not known", hooked, nil, nil, nil, "", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := owners{name: c.uid, uid: c.uid, pods: c.pods, known: c.pods != nil, read: c.read, whose: map[int64]string{}}
			kept, doubtful := o.sort(all)
			kept = slices.DeleteFunc(kept, func(g evidence.Goroutine) bool { return !isOfPod(all, g.ID) })
			var ids []int64
			for _, g := range kept {
				ids = append(ids, g.ID)
				if g.Pod != c.pod {
					t.Errorf("goroutine %d is of %q", g.ID, g.Pod)
				}
			}
			slices.Sort(ids)
			slices.Sort(c.ids)
			if !slices.Equal(ids, c.ids) || doubtful != c.doubtful {
				t.Errorf("goroutines %v, %d doubtful", ids, doubtful)
			}
		})
	}
}

func isOfPod(all []routine, id int64) bool {
	return slices.ContainsFunc(all, func(r routine) bool { return r.ID == id && r.kind == ofPod })
}

// TestOnlyWorker: without the kubelet's memory, the only busy worker belongs to the only pod
// that can need it, as far as can be seen.
func TestOnlyWorker(t *testing.T) {
	all, err := parseDump(bytes.NewReader(recorded(t)))
	if err != nil {
		t.Fatal(err)
	}
	all = slices.DeleteFunc(all, func(r routine) bool { return r.ID == 541 || r.ID == 545 })
	o := owners{name: stopping, uid: stopping, pods: []podOf{{stopping, true, true}, {hooked, false, true}}, known: true, whose: map[int64]string{}}
	kept, doubtful := o.sort(all)
	i := slices.IndexFunc(kept, func(g evidence.Goroutine) bool { return g.ID == 561 })
	if i < 0 || kept[i].Pod != "" || doubtful != 0 {
		t.Errorf("kept %+v, %d doubtful", kept, doubtful)
	}
}

// TestStaticPod: a static pod's goroutines get the UID of its mirror, since the other parts of
// the snapshot have that one.
func TestStaticPod(t *testing.T) {
	all, err := parseDump(bytes.NewReader(recorded(t)))
	if err != nil {
		t.Fatal(err)
	}
	o := owners{name: "mirror", uid: hooked, read: inMemory, whose: map[int64]string{}}
	kept, _ := o.sort(all)
	if !slices.ContainsFunc(kept, func(g evidence.Goroutine) bool { return g.ID == 541 && g.Pod == "mirror" }) {
		t.Errorf("kept %+v", kept)
	}
}

func FuzzDump(f *testing.F) {
	f.Add(recorded(f))
	f.Add([]byte("goroutine 1 [select, 3 minutes]:\nk8s.io/kubernetes/pkg/kubelet.(*podWorkers).podWorkerLoop(0x1, {0x2, 0x24})\n\t/x.go:1\ncreated by x in goroutine 1\n"))
	f.Add([]byte("goroutine 1 [\x1b]:\n(\n(((\ncreated by  in goroutine \n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		all, _ := parseDump(bytes.NewReader(b))
		o := owners{name: hooked, uid: hooked, pods: []podOf{{hooked, false, false}}, known: true, whose: map[int64]string{},
			read: func(x text) string { return strings.Repeat("a", x.len) }}
		kept, _ := o.sort(all)
		if len(kept) > maxKept {
			t.Errorf("%d goroutines", len(kept))
		}
		for _, g := range kept {
			if len(g.Frames) == 0 || len(g.Frames) > maxFrames || strings.ContainsAny(g.State+strings.Join(g.Frames, ""), "\x1b\n") {
				t.Errorf("goroutine %+v", g)
			}
		}
	})
}
