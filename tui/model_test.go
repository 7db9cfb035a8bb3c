package tui

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/tui/ask"
	"github.com/podstep/podstep/tui/screen"
	"github.com/podstep/podstep/tui/session"
)

// started is a desk with one pod, which is at its sandbox.
func started(t *testing.T) *desk {
	t.Helper()
	w := newWorld()
	d := newDesk(t, w, Options{})
	d.m.offered = true
	return d.live(w.creation(web))
}

func TestActionTable(t *testing.T) {
	ids := map[string]bool{}
	keys := map[scope]map[string]string{}
	for _, a := range actions {
		if ids[a.id] {
			t.Errorf("two actions are called %s", a.id)
		}
		ids[a.id] = true
		if a.title.En == "" || a.title.Zh == "" || len(a.keys) == 0 || a.do == nil {
			t.Errorf("%s lacks a title in a language, a key, or what it does", a.id)
		}
		if (a.rank != nil) != (a.hint.En != "" && a.hint.Zh != "") {
			t.Errorf("%s: the footer needs a rank and words in both languages, or nothing", a.id)
		}
		if keys[a.scope] == nil {
			keys[a.scope] = map[string]string{}
		}
		for _, k := range a.keys {
			if other := keys[a.scope][k]; other != "" {
				t.Errorf("%s is the key of %s and of %s", k, other, a.id)
			}
			keys[a.scope][k] = a.id
		}
	}
}

// TestMovesByEveryHand: every move has letters for people who know vi, and arrows for all others.
func TestMovesByEveryHand(t *testing.T) {
	vim := func(k string) bool { return len(k) == 1 || k == "ctrl+u" || k == "ctrl+d" }
	for _, a := range moveActions {
		if a.id == "move.held" || strings.HasPrefix(a.id, "move.pane") || strings.HasPrefix(a.id, "move.error") {
			continue // the move is not in vi, or only has vi's keys
		}
		if !slices.ContainsFunc(a.keys, vim) || !slices.ContainsFunc(a.keys, func(k string) bool { return !vim(k) }) {
			t.Errorf("%s needs a key for vi users and one for others: %q", a.id, a.keys)
		}
	}
}

// TestDangerousKeysAsk: a slip on a key cannot stop pods.
func TestDangerousKeysAsk(t *testing.T) {
	d := started(t)
	d.press("H")
	d.sees("Hold default/web?", "on node node-1", "All other pods go on").called()
	d.press("enter") // Cancel is chosen at first
	d.seesNot("Hold default/web?").called()
	d.press("H", "esc").called()
	d.press("H", "n").called()
	d.press("H", "y").called("hold web")
}

// TestLabHoldsUnasked: in a lab a hold harms nobody, and H takes one key.
func TestLabHoldsUnasked(t *testing.T) {
	w := newWorld()
	w.info.Lab = true
	d := newDesk(t, w, Options{})
	d.m.offered = true
	d.live(w.creation(web)).press("H").called("hold web")
	d, _ = inLab(t)
	d.press("H").called("hold web")
}

func TestHoldAndStep(t *testing.T) {
	d := started(t)
	d.press("s")
	d.sees("is not held; H holds it").called()
	d.press("H", "right", "enter").called("hold web")
	d.press("s").called("step INTO ")
	d.press("n").called("step OVER ")
	d.press("o").called("step OVER ")
	d.press("O").called("step OUT ")
	d.press("S").called("step NEXT_STAGE ")
	d.press("i").called("step NEXT_CRI ")
	d.press("y").called("step NEXT_SYNC ")
	d.press("u").write("cri.Cr").press("tab", "enter").called("step UNTIL cri.CreateContainer")
	d.press("c").called("continue u-web")
	d.poll()
	d.press("c").sees("is not held").called()
}

func TestUntilRefusesNoStep(t *testing.T) {
	d := started(t)
	d.press("H", "right", "enter").called("hold web")
	d.press("u").write("nowhere").press("enter").called()
	d.sees(`there is no step "nowhere"`)
	d.press("esc").seesNot("nowhere").called()
}

// TestWaiting: the screen waits for a step that takes time, and Esc gives it up. Until then no other step begins.
func TestWaiting(t *testing.T) {
	d := started(t)
	d.press("H", "right", "enter").called("hold web")
	d.park = true
	d.press("i")
	d.sees("goes on", "Esc stops waiting")
	d.press("s").sees("on its way").called()
	d.press("esc")
	d.unpark()
	if want := []string{"step NEXT_CRI "}; !slices.Equal(d.w.calls, want) {
		t.Errorf("calls %q, want %q", d.w.calls, want)
	}
	d.sees("no longer waiting")
}

func TestReleaseAll(t *testing.T) {
	d := started(t)
	d.press("H", "right", "enter").called("hold web")
	d.press("R").called("continue all").sees("1 pod goes on")
	d.press("C").called("continue all").sees("no pod was held")
}

// TestEsc: Esc goes one level out each time, and never ends the program.
func TestEsc(t *testing.T) {
	d := started(t)
	d.press("/").write("step~cri.*").press("enter")
	d.press("?").write("quit")
	d.press("esc").seesNot("Keys ·")
	if d.m.filter == "" {
		t.Error("Esc took two levels at once")
	}
	d.press("esc")
	if d.m.filter != "" {
		t.Error("Esc leaves the filter on")
	}
	for range 9 {
		d.press("esc")
	}
	if d.quit {
		t.Error("Esc ended the program")
	}
	d.press("?", "q")
	if d.quit {
		t.Error("q ended the program from within help")
	}
	d.press("esc", "q")
	if !d.quit {
		t.Error("q did not end the program")
	}
}

func TestInterruptAnywhere(t *testing.T) {
	for _, way := range [][]string{{}, {"?"}, {"H"}, {"/", "a"}, {":", "x"}, {"b"}} {
		d := started(t)
		d.press(way...).press("ctrl+c")
		if !d.quit {
			t.Errorf("Ctrl+C does not end the program after %q", way)
		}
	}
}

// TestTypingIsTyping: in a line, letters that are keys elsewhere are letters.
func TestTypingIsTyping(t *testing.T) {
	d := started(t)
	d.press("/").write("jkqH")
	if got := d.m.input.String(); got != "jkqH" {
		t.Errorf("the filter line has %q", got)
	}
	d.press("ctrl+u").write("ab").press("left", "backspace")
	if got := d.m.input.String(); got != "b" {
		t.Errorf("the filter line has %q after editing, want b", got)
	}
	d.press("esc")
	if d.quit || d.m.filter != "" {
		t.Error("what was typed counted as keys, or stayed after Esc")
	}
}

func TestFilterCountsAtOnce(t *testing.T) {
	d := started(t)
	d.press("/").write("err")
	if d.m.filter != "err" {
		t.Errorf("the filter is %q while err is typed", d.m.filter)
	}
	d.write(" (")
	if d.m.input.Error() == "" || d.m.filter != "err" {
		t.Errorf("half a filter counts (%q), or is not told of (%q)", d.m.filter, d.m.input.Error())
	}
}

// TestDisabledActionsGiveReasons: in the palette, on their key, and in help.
func TestDisabledActionsGiveReasons(t *testing.T) {
	w := newWorld()
	w.file = "x.podstep"
	d := newDesk(t, w, Options{})
	d.deliver(session.News{Info: w.info, Batches: []*agentpb.Batch{w.creation(web)}, CaughtUp: true})
	d.press("s").sees("a trace file is a recording")
	d.press(":").write("step into").sees("a trace file is")
	d.press("enter").sees("a trace file is a recording").called()
}

func TestPaletteHasEveryActionOnce(t *testing.T) {
	d := started(t)
	d.press(":")
	p := d.m.top().Layer.(*ask.Picker)
	count := map[string]int{}
	for _, c := range p.Found() {
		count[c.ID]++
	}
	for _, a := range ofOneNode(actions) {
		if count[a.id] != 1 {
			t.Errorf("%s is %d times in the palette", a.id, count[a.id])
		}
	}
	if count["pod.u-web"] != 1 || count["to.cri.RunPodSandbox"] != 1 {
		t.Error("the palette lacks pods or steps")
	}
}

func TestPaletteRuns(t *testing.T) {
	d := started(t)
	d.press("ctrl+p").write("timeline").press("enter")
	if d.m.main() != screen.MainTimeline {
		t.Errorf("the palette led to %v", d.m.main())
	}
	d.press(":").write("hold the sel").press("enter").sees("Hold default/web?")
}

func TestHelpFindsByKey(t *testing.T) {
	d := started(t)
	d.press("?").write("H")
	p := d.m.top().Layer.(*ask.Picker)
	if found := p.Found(); len(found) == 0 || found[0].ID != "hold.pod" {
		t.Errorf("help finds %+v for the key H", found)
	}
	d.press("esc", "f1").write("ctrl+c")
	p = d.m.top().Layer.(*ask.Picker)
	if found := p.Found(); len(found) == 0 || found[0].ID != "leave.interrupt" {
		t.Error("help does not find Ctrl+C")
	}
	d.press("esc", "?").write("runtime").sees("next call to the runtime")
}

// TestHelpHasEachHeadingOnce: a heading stands before each group. So the actions of a group stand together, even
// those that a search leaves.
func TestHelpHasEachHeadingOnce(t *testing.T) {
	for _, typed := range []string{"", "the", "hold"} {
		d := started(t)
		groups := []string{""}
		for _, it := range d.press("?").write(typed).m.screen().Over.Items {
			if it.Group != groups[len(groups)-1] {
				groups = append(groups, it.Group)
			}
		}
		if len(groups) < 2 || len(groups) != len(slices.Compact(slices.Sorted(slices.Values(groups)))) {
			t.Errorf("%q: the groups are %q", typed, groups)
		}
	}
}

// TestGrace: a dialog that appears by itself does not take keys that were on
// their way to something else.
func TestGrace(t *testing.T) {
	d := started(t)
	answered := -1
	d.send(keyPress("j"))
	d.m.appear(&ask.Dialog{Title: "Sudden", Buttons: []string{"No", "Yes"}, Chosen: 1, Chose: func(b int) tea.Cmd {
		answered = b
		return nil
	}})
	for range 3 {
		d.now = d.now.Add(200 * time.Millisecond)
		d.send(keyPress("enter"))
	}
	if answered != -1 {
		t.Fatal("a key in the stream of typing answered the dialog")
	}
	d.now = d.now.Add(quietTime)
	d.send(keyPress("enter"))
	if answered != 1 {
		t.Fatal("the dialog takes no key after it was quiet")
	}
}

func TestGraceEnds(t *testing.T) {
	d := started(t)
	answered := false
	d.m.appear(&ask.Dialog{Title: "Sudden", Buttons: []string{"No"}, Chose: func(int) tea.Cmd {
		answered = true
		return nil
	}})
	for range 20 {
		d.now = d.now.Add(100 * time.Millisecond)
		d.send(keyPress("enter"))
	}
	if !answered {
		t.Error("who types on and on is locked out")
	}
}

func TestBreakpointForm(t *testing.T) {
	d := started(t)
	d.press("b").sees("Breakpoint", "default/web")
	d.write("cri.RunP").press("tab").sees("cri.RunPodSandbox")
	d.press("down", "down", "down", "down", "down").press("enter")
	d.called("break default/web cri.RunPodSandbox")
	d.poll()
	d.press("B").sees("cri.RunPodSandbox")
	d.press("x").called("remove")
}

// TestBreakpointAtPlace: instead of a step a person can give a place in the code, to hold pods that come there.
func TestBreakpointAtPlace(t *testing.T) {
	for _, at := range []string{"pkg/kubelet/kubelet.go:1900", "kubelet.go:1900", "(*Kubelet).makePodDataDirs", "k8s.io/kubernetes/pkg/kubelet.(*Kubelet).SyncPod:12"} {
		d := started(t)
		d.press("b").write(at)
		d.press("down", "down", "down", "down", "down", "enter").called("break default/web " + at)
		d.poll()
		d.press("B").sees(at[len(at)-4:]) // a long one is cut in the middle
	}
	d := started(t)
	d.press("b").write("kubelet.go:1900")
	d.press("down", "down", "right", "down", "down", "down", "enter").sees("a pod can only be held").called()
	for i := range d.m.catalogue().Steps {
		if name := d.m.catalogue().Steps[i].Name; isPlace(name) {
			t.Errorf("the step %s is taken for a place", name)
		}
	}
}

func TestBreakpointWhereTheNodeStandsStill(t *testing.T) {
	d := started(t)
	node := slices.IndexFunc(d.w.info.Steps, func(s *agentpb.Step) bool { return s.HoldEnter == "node" })
	name := d.w.info.Steps[node].Name
	add := func() {
		d.press("b").write(name)
		d.press("down", "down", "down", "down", "down", "enter").sees("The node stands still", "R lets all go").called()
	}
	add()
	d.press("enter").called() // Cancel is chosen at first
	add()
	d.press("right", "enter").called("break default/web " + name)
}

func TestBreakpointFormShowsWhatIsWrong(t *testing.T) {
	d := started(t)
	d.press("b").write("nowhere").press("down", "down", "down", "down", "down", "enter")
	d.sees(`there is no step "nowhere"`).called()
}

func TestErrorsAreShown(t *testing.T) {
	d := started(t)
	d.w.fail = errors.New("pod default/web came to no such place")
	d.press("H", "right", "enter").sees("came to no such place")
}

// TestReconnect: the header says that the agent is gone, and nothing can be done meanwhile. The events of another
// agent are not mixed up with those from before.
func TestReconnect(t *testing.T) {
	d := started(t)
	d.press("H", "right", "enter").called("hold web")
	d.deliver(session.News{Link: &session.LinkNews{Link: screen.LinkReconnecting, Why: errors.New("the agent has ended"), Retry: d.now.Add(3 * time.Second)}})
	d.sees("reconnecting 3s", "the agent has ended")
	d.press("H").sees("the agent is not there").called()
	other := newWorld()
	other.info.Pid, other.info.Node = 2, "node-2"
	d.deliver(session.News{Info: other.info, Link: &session.LinkNews{Link: screen.LinkLive}, CaughtUp: true})
	d.sees("live", "node-2", "0 pods").seesNot("HELD")
	if len(d.m.holds)+len(d.m.breaks) > 0 {
		t.Errorf("the holds %v and breakpoints %v are those of the former agent", d.m.holds, d.m.breaks)
	}
	d.w.holds = nil
	clear(d.w.shown)
	d.poll() // the other agent lists the pod
	d.sees("1 pod").seesNot("HELD")
}

func TestLanguage(t *testing.T) {
	d := started(t)
	d.press("L").sees("实时")
	d.press("?").sees("按键")
	d.press("esc", "L").sees("live")
}

func TestCopy(t *testing.T) {
	d := started(t)
	d.press("shift+tab", "shift+tab")
	for d.m.screen().Focus != screen.PanePods {
		d.press("tab")
	}
	d.press("Y")
	if d.copied != "default/web" {
		t.Errorf("copied %q", d.copied)
	}
}

func TestRecord(t *testing.T) {
	d := started(t)
	d.press("r", "ctrl+u").write("x.podstep").press("enter")
	d.called("record x.podstep").sees("7 events recorded")
}

// TestSizes: whatever the terminal's size, a frame is drawn and fits.
func TestSizes(t *testing.T) {
	d := started(t)
	for _, way := range []string{"", "t", "e", "B", "p", "?", ":", "b", "T"} {
		if way != "" {
			d.press(way)
		}
		for w := 1; w <= 200; w += 7 {
			for _, h := range []int{1, 4, 10, 24, 50} {
				d.send(tea.WindowSizeMsg{Width: w, Height: h})
				if lines := strings.Count(d.m.View().Content, "\n") + 1; lines != h {
					t.Fatalf("after %q at %dx%d there are %d lines", way, w, h, lines)
				}
			}
		}
		d.send(tea.WindowSizeMsg{Width: 120, Height: 36})
		d.press("esc")
	}
}

// TestStack: what a debugger knows about the held pod is on top of the screen until Esc.
func TestStack(t *testing.T) {
	d := started(t)
	d.press("V").sees("is not held; H holds it").called()
	d.press("H", "right", "enter").called("hold web")
	d.press("V").sees("Stack and variables · default/web", "held at sync.pod · the kubelet stood still for 12 ms for this", "kubelet.(*Kubelet).SyncPod", "kubelet.go:1977", "inFrame = 0")
	d.press("down").sees("inFrame = 1")
	d.press("p").write("pod.Name").press("enter").sees(`pod.Name = "pod.Name"`)
	d.called("look 0 ", "look 1 ", "look 1 pod.Name")
	d.press("esc").seesNot("Stack and variables · default/web")
	d.w.fail = errors.New("no debugger sees the pod")
	d.press("V").sees("no debugger sees the pod").seesNot("Stack and variables · default/web")
	d.called("look 0 ")
}

// TestStackWaits: the screen goes on while the debugger answers.
func TestStackWaits(t *testing.T) {
	d := started(t)
	d.press("H", "right", "enter").called("hold web")
	d.park = true
	d.press("V").sees("waiting for the debugger").press("esc").seesNot("waiting for the debugger")
	d.unpark()
	d.seesNot("Stack and variables · default/web")
}

// TestCompare: D asks for the other pod, and shows both. If there is no other, the screen says so.
func TestCompare(t *testing.T) {
	started(t).press("D").sees("there is no other pod")
	w := newWorld()
	d := newDesk(t, w, Options{})
	d.deliver(session.News{Info: w.info, Batches: []*agentpb.Batch{w.creation(web), w.creation(hello)}, CaughtUp: true})
	d.press("D").sees("Compare with another pod").press("enter").sees("compared").sees("Where the time went")
	d.sees("Tab termination").press("tab").sees("neither hello nor web has begun to end", "Tab the whole story")
	d.press("esc")
	if d.m.top() != nil {
		t.Error("Esc does not close the comparison")
	}
}
