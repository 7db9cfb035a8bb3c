package compare

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/trace"
	"github.com/podstep/podstep/agent/trace/tracetest"
	"github.com/podstep/podstep/probes/words"
)

// made makes a story of turns: words are steps. A "!" behind a step means that it failed, and "=40s" that it took so
// long.
func made(turns ...string) *Story {
	s := &Story{Done: true, Begun: true}
	s.Pod.Name = "web"
	for n, text := range turns {
		kind, rest, _ := strings.Cut(text, ":")
		t := Turn{Kind: kind, N: n}
		for _, word := range strings.Fields(rest) {
			word, took, _ := strings.Cut(word, "=")
			d, _ := time.ParseDuration(took)
			name, failed := strings.CutSuffix(word, "!")
			t.Steps = append(t.Steps, len(s.Steps))
			s.Steps = append(s.Steps, Step{Key: Key{Step: name}, Turn: n, Took: d, Failed: failed, Notable: true})
			s.Took += d
		}
		s.Turns = append(s.Turns, t)
	}
	return s
}

// written shows an alignment: steps of both stories, of one only, or with another outcome.
func written(r *Result) string {
	var out []string
	for i := range r.Pairs {
		p := &r.Pairs[i]
		mark := ""
		switch {
		case p.B == nil:
			mark = "-"
		case p.A == nil:
			mark = "+"
		case p.A.Failed != p.B.Failed:
			mark = "!"
		}
		out = append(out, mark+p.Step().Step)
	}
	return strings.Join(out, " ")
}

func TestCompare(t *testing.T) {
	for _, c := range []struct {
		name  string
		a, b  *Story
		want  string
		parts int
	}{
		{"equal", made("create:a b c"), made("create:a b c"), "a b c", -1},
		{"one more", made("create:a c"), made("create:a b c"), "a +b c", 1},
		{"one less", made("create:a b c"), made("create:a c"), "a -b c", 1},
		{"another order", made("create:a b"), made("create:b a"), "-a b +a", 0},
		{"failed in one", made("create:a b"), made("create:a b!"), "a !b", 1},
		{"failed once, then went well", made("create:a b"), made("create:a b!", "create:a b"), "+a +b a b", 0},
		{"a turn more", made("create:a b", "sync:c"), made("create:a b", "sync:c", "sync:d"), "a b c +d", 3},
		{"turns of another kind", made("create:a"), made("sync:a"), "-a +a", 0},
		{"nothing against something", made(), made("create:a"), "+a", 0},
		{"nothing at all", made(), made(), "", -1},
	} {
		r := Compare(c.a, c.b)
		if got := written(r); got != c.want || r.Parts != c.parts {
			t.Errorf("%s: %q parts at %d, want %q at %d", c.name, got, r.Parts, c.want, c.parts)
		}
	}
}

// TestOffWorker: the place of a step that ran beside the worker makes no difference, but its absence does.
func TestOffWorker(t *testing.T) {
	offWorker := func(s *Story) *Story {
		for i := range s.Steps {
			s.Steps[i].OffWorker = s.Steps[i].Step == "x"
		}
		return s
	}
	for _, c := range []struct{ a, b, want string }{
		{"create:x a b", "create:a b x", "x a b"},
		{"create:a x b x", "create:a b x", "a -x b x"},
		{"create:a b x!", "create:x a b", "!x a b"},
	} {
		if got := written(Compare(offWorker(made(c.a)), offWorker(made(c.b)))); got != c.want {
			t.Errorf("%s and %s: %q, want %q", c.a, c.b, got, c.want)
		}
	}
}

// TestLong: turns and steps beyond the bounds are all in the result, in order.
func TestLong(t *testing.T) {
	var turns []string
	for range mostTurns + 50 {
		turns = append(turns, "sync:a b")
	}
	for _, b := range []*Story{made(turns...), made(turns[:mostTurns+10]...), made(turns[:10]...)} {
		a := made(turns...)
		n := 0
		for _, p := range Compare(a, b).Pairs {
			if p.A != nil {
				n++
			}
		}
		if n != len(a.Steps) {
			t.Errorf("%d of %d steps", n, len(a.Steps))
		}
	}
}

func TestVerdict(t *testing.T) {
	slow := made("create:cri.RunPodSandbox=1s cri.PullImage=39s")
	slow.Pod.Name = "web2"
	slow.Steps[1].Of = "container app"
	quick := made("create:cri.RunPodSandbox=1s cri.PullImage=1s")
	quick.Steps[1].Of = "container app"
	held := made("create:cri.RunPodSandbox=1s cri.PullImage=1s")
	held.Pod.Name, held.Held, held.Took = "held", time.Minute, time.Minute+2*time.Second
	for _, c := range []struct {
		a, b   *Story
		en, zh string
	}{
		{quick, slow, "web came in 2.0 s and web2 in 40 s: 38 s of it in cri.PullImage of container app", "web 创建用时 2.0 s，web2 创建用时 40 s：相差的时间里有 38 s 用在：cri.PullImage（容器 app）"},
		{slow, quick, "web2 came in 40 s and web in 2.0 s: 38 s of it in cri.PullImage of container app", ""},
		{quick, held, "web came in 2.0 s and held in 1m2s (1m of it held): about the same, apart from holds", ""},
		{quick, quick, "web (1) came in 2.0 s and web (2) in 2.0 s: about the same, apart from holds", ""},
	} {
		r := Compare(c.a, c.b)
		if got := r.Verdict(words.English); got != c.en {
			t.Errorf("%q\nwant\n%q", got, c.en)
		}
		if got := r.Verdict(words.Chinese); c.zh != "" && got != c.zh {
			t.Errorf("%q\nwant\n%q", got, c.zh)
		}
	}
}

// source gives recorded batches.
func source(t testing.TB, path string) (*agentpb.InfoResponse, *trace.Reader) {
	r, err := trace.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r.Header().Info, r
}

const lab, node, attached = "../../../tui/state/testdata/lab.podstep", "../../trace/testdata/node.podstep", "../../../tui/state/testdata/attached.podstep"

// TestAddsUp: the times of the steps of a part, of waits and of holds add up to the time of the part, and so do the
// lines of the comparison.
func TestAddsUp(t *testing.T) {
	for _, path := range []string{lab, node, attached} {
		_, batches, err := tracetest.Read(path)
		if err != nil {
			t.Fatal(err)
		}
		names := map[string]bool{}
		for _, b := range batches {
			for _, p := range b.Pods {
				names[p.GetNamespace()+"/"+p.GetName()] = true
			}
		}
		for part := range Part(len(Parts)) {
			addsUp(t, path, part, names)
		}
	}
}

func addsUp(t *testing.T, path string, part Part, names map[string]bool) {
	t.Helper()
	var last *Story
	for name := range names {
		info, r := source(t, path)
		sel, err := agentpb.ParsePods(name)
		if err != nil {
			t.Fatal(err)
		}
		s, err := Read(info, r, sel, part, nil)
		if err != nil || !s.Begun {
			continue // the pod was only reported, with no call; or the part never ended
		}
		sum := s.Outside + s.Held
		for i := range s.Steps {
			if s.Steps[i].Took < 0 || s.Steps[i].Begin < 0 {
				t.Errorf("%s, %s: %+v", name, part, s.Steps[i])
			}
			sum += s.Steps[i].Took
		}
		if sum != s.Took || s.Outside < 0 {
			t.Errorf("%s of %s: the steps are %s, the %s %s, of that %s in no call", name, path, sum, part, s.Took, s.Outside)
		}
		self := Compare(s, s)
		if self.Parts >= 0 || self.Times[0].More() != 0 {
			t.Errorf("%s differs from itself: %s", name, self.Parting(words.English))
		}
		if last != nil {
			r := Compare(last, s)
			var more time.Duration
			for _, x := range r.Times {
				more += x.More()
			}
			if more != s.Took-s.Held-last.Took+last.Held {
				t.Errorf("%s, %s: the lines differ by %s, the parts by %s", name, part, more, s.Took-last.Took)
			}
			if n := len(r.Pairs); n != countBoth(r) {
				t.Errorf("%s, %s: %d pairs", name, part, n)
			}
		}
		last = s
	}
	if last == nil {
		t.Errorf("%s has no %s", path, part)
	}
}

// countBoth returns how many pairs a result must have: the number of notable steps of both stories, less one for each
// pair of two.
func countBoth(r *Result) (n int) {
	for _, s := range []*Story{r.A, r.B} {
		for i := range s.Steps {
			if s.Steps[i].Notable {
				n++
			}
		}
	}
	for _, p := range r.Pairs {
		if p.A != nil && p.B != nil {
			n--
		}
	}
	return n
}

// TestHeld: the time for which a person held a pod counts for no step.
func TestHeld(t *testing.T) {
	info, r := source(t, lab)
	s, err := Read(info, r, &agentpb.PodSelector{Name: "held"}, Creation, nil)
	if err != nil {
		t.Fatal(err)
	}
	if s.Held == 0 || s.Held >= s.Took {
		t.Errorf("held for %s of %s", s.Held, s.Took)
	}
}

// read reads a part of the story of a pod of the lab's recording.
func read(t *testing.T, name string, part Part) *Story {
	t.Helper()
	return readOf(t, lab, name, part)
}

func readOf(t *testing.T, path, name string, part Part) *Story {
	t.Helper()
	info, r := source(t, path)
	s, err := Read(info, r, &agentpb.PodSelector{Name: name}, part, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestTermination: a termination begins with the deletion of the object and is over when the kubelet lets go of the
// pod. A pod whose container did not end by itself took the whole grace period. The pods were held meanwhile, which
// counts for no step.
func TestTermination(t *testing.T) {
	quick, slow := read(t, "web", Termination), read(t, "held", Termination)
	for _, s := range []*Story{quick, slow} {
		var kinds []string
		for _, turn := range s.Turns {
			kinds = append(kinds, turn.Kind)
		}
		way := slices.ContainsFunc(s.Steps, func(p Step) bool { return p.Step == "loop.remove" && p.Begin+p.Took <= s.Took })
		if !s.Done || !way || s.Steps[0].Step != "merge.merge" || s.Steps[0].Begin != 0 || !slices.Equal(kinds, []string{"", "terminating", "terminated", afterLast}) {
			t.Errorf("%s: done %v, from %s, removed %v, in %q", s.Pod.Name, s.Done, s.Steps[0].Step, way, kinds)
		}
		whole := read(t, s.Pod.Name, All)
		if creation := read(t, s.Pod.Name, Creation); !whole.Done || creation.Took+s.Took > whole.Took {
			t.Errorf("%s: %s and %s are more than all of it, %s", s.Pod.Name, creation.Took, s.Took, whole.Took)
		}
	}
	const grace = 30 * time.Second
	top := Compare(quick, slow).Times[0]
	if top.Step != "cri.StopContainer" || top.Of != "container app/held" || (top.B-grace).Abs() > time.Second {
		t.Errorf("most of the difference is %+v", top)
	}
	if s := read(t, "no-image", Termination); s.Begun || s.Took != 0 || len(s.Steps) != 0 {
		t.Errorf("no-image was not deleted: %+v", s)
	}
}

// TestAttached: where no probe sees turns, the calls to the runtime have the time of the termination. Two containers
// used up their grace period of a second, at the same time.
func TestAttached(t *testing.T) {
	s := readOf(t, attached, "held", Termination)
	stops := time.Duration(0)
	for _, step := range s.Steps {
		if step.Step == "cri.StopContainer" {
			stops += step.Took
		}
	}
	if !s.Done || stops < s.Took*8/10 || len(s.Turns) != 1 || s.Turns[0].Text(words.English) != "the calls that were seen" {
		t.Errorf("done %v, %s of %s in cri.StopContainer, in %+v", s.Done, stops, s.Took, s.Turns)
	}
}

// TestClosely: a story has the same steps, failures and times whether its pod was watched closely or not. The time of a call that
// is seen only closely counts for the one around it.
func TestClosely(t *testing.T) {
	for _, pod := range []string{"web", "no-image", "held"} {
		whole := read(t, pod, All)
		info, r := source(t, lab)
		closely := map[string]bool{}
		for _, s := range info.Steps {
			if s.Tier == 2 && len(s.Abilities) > 0 {
				closely[s.Name] = true
			}
			for _, can := range s.Abilities {
				can.Closely = s.Tier == 2
			}
		}
		got, err := Read(info, r, &agentpb.PodSelector{Name: pod}, All, nil)
		if err != nil {
			t.Fatal(err)
		}
		var want, have []string
		sum := got.Outside + got.Held
		for _, s := range whole.Steps {
			if !closely[s.Step] {
				want = append(want, fmt.Sprint(s.Key, s.Turn, s.Begin))
			}
		}
		for _, s := range got.Steps {
			have = append(have, fmt.Sprint(s.Key, s.Turn, s.Begin))
			sum += s.Took
		}
		if len(want) == len(whole.Steps) || !slices.Equal(have, want) || got.Took != whole.Took || sum != got.Took {
			t.Errorf("%s: of %d steps %d are left, want %d; the part took %s and %s, the steps %s", pod, len(whole.Steps), len(have), len(want), whole.Took, got.Took, sum)
		}
	}
}

// TestNotBegun: if a pod has not come to the part, the comparison has no lines, and names the pod.
func TestNotBegun(t *testing.T) {
	ended, lives := read(t, "web", Termination), read(t, "no-image", Termination)
	for _, c := range []struct {
		a, b *Story
		want string
	}{
		{ended, lives, "no-image has not begun to end"}, {lives, ended, "no-image has not begun to end"},
		{lives, lives, "neither no-image (1) nor no-image (2) has begun to end"},
	} {
		r := Compare(c.a, c.b)
		if got := r.Verdict(words.English); got != c.want || r.Begun() || r.Lines(words.English, 9) != nil || r.Parting(words.English) != "" {
			t.Errorf("%q, lines %v; want %q", got, r.Lines(words.English, 9), c.want)
		}
	}
}

// TestGolden is the whole table of two pods of a lab, in both languages.
func TestGolden(t *testing.T) {
	for path, r := range map[string]*Result{
		"testdata/lab.txt":             Compare(read(t, "web", Creation), read(t, "no-image", Creation)),
		"testdata/lab-termination.txt": Compare(read(t, "web", Termination), read(t, "held", Termination)),
		"testdata/lab-all.txt":         Compare(read(t, "web", All), read(t, "held", All)),
	} {
		golden(t, path, r)
	}
}

func golden(t *testing.T, path string, r *Result) {
	t.Helper()
	var b bytes.Buffer
	for _, l := range []words.Lang{words.English, words.Chinese} {
		fmt.Fprintf(&b, "%s\n%s\n", r.Verdict(l), r.Parting(l))
		for _, line := range r.Lines(l, 8) {
			fmt.Fprintf(&b, "%v %v|%s|%s|%s|%s\n", line.Heading, line.Marked, line.What, line.A, line.B, line.Other)
		}
	}
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(want, b.Bytes()) {
		t.Errorf("%s differs (%v); UPDATE=1 go test writes it:\n%s", path, err, &b)
	}
}

// FuzzAlign: each gets all members of both sequences in order, and only pairs with a score.
func FuzzAlign(f *testing.F) {
	f.Add("abc", "acb", 2)
	f.Add("", "x", 1)
	f.Fuzz(func(t *testing.T, a, b string, most int) {
		if len(a) > 50 || len(b) > 50 {
			return
		}
		most = max(most%60, 1)
		var as, bs []int
		align(len(a), len(b), most, func(i, j int) int {
			if a[i] == b[j] {
				return 1
			}
			return 0
		}, func(i, j int) {
			if i >= 0 {
				as = append(as, i)
			}
			if j >= 0 {
				bs = append(bs, j)
			}
			if i >= 0 && j >= 0 && a[i] != b[j] {
				t.Errorf("%d and %d are paired", i, j)
			}
		})
		if len(as) != len(a) || len(bs) != len(b) || !slices.IsSorted(as) || !slices.IsSorted(bs) {
			t.Errorf("%v of %d, %v of %d", as, len(a), bs, len(b))
		}
	})
}
