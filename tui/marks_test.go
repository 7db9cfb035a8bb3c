package tui

import (
	"context"
	"fmt"
	"html"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/agent/trace/tracetest"
	"github.com/podstep/podstep/tui/screen"
	"github.com/podstep/podstep/tui/session"
)

// TestMarkedPods: keys that hold, step and let go act on all marked pods at once and on no other, and the screen
// says so. Esc takes the marks away.
func TestMarkedPods(t *testing.T) {
	c := newBusyCluster(t, Options{})
	c.m.state.SetFocus(screen.PanePods)
	asked := func(want ...string) {
		t.Helper()
		slices.Sort(c.w.calls)
		if !slices.Equal(c.w.calls, want) {
			t.Errorf("asked %q, want %q", c.w.calls, want)
		}
		c.w.calls = nil
	}
	c.press("g", "space", "j", "space").sees("marked pods: 2", "2 marked")
	c.press("G") // the node is selected: the keys do not act on it
	c.press("s").sees("no marked pod is held").called()
	c.press("H").sees("Hold the marked pods (2)?", "default/web-1, default/web-2").press("enter").called()
	c.press("H", "right", "enter")
	asked("hold web-1", "hold web-2")
	for _, p := range c.pods {
		c.hold(p)
	}
	c.poll()
	c.press("s")
	asked("step INTO ", "step INTO ")
	for _, p := range c.pods {
		c.hold(p)
	}
	c.poll()
	c.press("?").write("let this pod").sees("2 marked").press("esc")
	c.press("c")
	asked("continue u-1", "continue u-2")
	c.press("esc").seesNot("2 marked")
	c.press("s").called()
}

// asker answers with one pod.
type asker struct{ names []string }

func (a *asker) Pod(_ context.Context, name evidence.Name) *evidence.Snapshot {
	a.names = append(a.names, name.String())
	return &evidence.Snapshot{Name: name, Pod: &corev1.Pod{}, KubeletPod: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name.Name}}}
}

func (a *asker) Logs(context.Context, *evidence.Snapshot) []evidence.ContainerLog {
	return []evidence.ContainerLog{{Container: "app", Lines: []string{"hello from within"}}}
}

// TestAbout: three keys show the pod's object, logs and events. If nobody can be asked, the screen says so.
func TestAbout(t *testing.T) {
	d := started(t)
	d.press("K").sees("neither the kubelet nor the API server can be asked")
	a := &asker{}
	d.m.opts.About = a
	d.press("K").sees("The pod as the kubelet has it · default/web", "name: web").press("esc")
	d.press("P").sees("Last lines of its containers · default/web", "--- app", "hello from within").press("esc")
	d.press("K", "/").write("KIND").sees("/ KIND", "1 found").press("enter").sees("n next").press("n", "esc").seesNot("1 found")
	d.sees("The pod as the kubelet has it").press("esc").seesNot("The pod as the kubelet has it")
	d.press("X").sees("Events of the pod · default/web", "no events of it").press("/").write("hour").sees("/ hour", "1 found").press("esc", "esc")
	if len(a.names) != 4 || a.names[0] != "default/web" {
		t.Errorf("asked about %q", a.names)
	}
}

// TestBookmarks: bookmarks lead back, from any place and into closed rows.
func TestBookmarks(t *testing.T) {
	d := started(t)
	d.press(";").sees("there is no bookmark; ' sets one")
	d.press("p", "g", "j", "j", "'").sees("bookmark set")
	row := func() string {
		s := d.m.screen().Story()
		return s.Rows[s.Cursor].Label
	}
	want := row()
	if s := d.m.screen().Story(); !s.Rows[s.Cursor].Marked {
		t.Error("the row has no sign")
	}
	d.press("e", "G", "'").sees("§")
	d.press("p", "-", ";").sees("bookmark 1 of 2")
	if row() != want {
		t.Errorf("the bookmark leads to %q, not %q", row(), want)
	}
	d.press(";").sees("bookmark 2 of 2")
	if d.m.main() != screen.MainEvents || !d.m.screen().Events().Rows[d.m.screen().Events().Cursor].Marked {
		t.Error("the bookmark does not lead to the event")
	}
	d.press("'").sees("taken away").press("`").sees("bookmark 1 of 1")
	if strings.TrimSpace(row()) != want {
		t.Errorf("the one before is %q", row())
	}
}

// TestPicture: the screen is written to a file, which the footer names. It never replaces another file.
func TestPicture(t *testing.T) {
	t.Chdir(t.TempDir())
	d := started(t)
	d.press("ctrl+s").sees("picture: ", ".svg")
	files, _ := filepath.Glob("podstep-*.svg")
	if len(files) != 1 {
		t.Fatalf("files: %q", files)
	}
	text, _ := os.ReadFile(files[0])
	for _, want := range []string{"<svg", "default/web", "RunPodSandbox"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%q is not in the picture", want)
		}
	}
	for range 3 { // one file for each second in which the picture may be taken
		d.now = d.now.Add(-time.Second)
		if err := os.WriteFile("podstep-"+d.now.Format("20060102-150405")+".svg", nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	d.press("ctrl+s").sees("picture: ", "-2.svg")
	if again, _ := filepath.Glob("podstep-*-2.svg"); len(again) != 1 {
		t.Errorf("second pictures of a second: %q", again)
	}
	dir, err := os.Getwd()
	if err == nil {
		err = os.RemoveAll(dir)
	}
	if err != nil {
		t.Fatal(err)
	}
	d.press("ctrl+s").sees("write picture", "no such file")
}

// TestPictureOfAll: a picture can be taken of whatever is on top of the screen or is typed, and that stays.
func TestPictureOfAll(t *testing.T) {
	on := map[string]int{}
	for name, reach := range map[string]func(*desk){
		"two pods": func(d *desk) { d.live(d.w.creation(web), d.w.creation(hello)) },
		"held":     func(d *desk) { d.live(d.w.creation(web)).press("H", "right", "enter") },
		"walk":     func(d *desk) { d.live(d.w.creation(web)); d.run(d.m.startWalk(shortWalk())) },
	} {
		for i := range ofOneNode(actions) {
			d := newDesk(t, newWorld(), Options{})
			d.m.offered, d.m.opts.About = true, &asker{}
			t.Chdir(t.TempDir()) // no picture has the name of another
			reach(d)
			a := &d.m.actions[i]
			d.run(d.m.run(a))
			if a.id == "look.compare" && d.m.top() != nil {
				d.press("enter").sees("compared")
			}
			d.m.frame.touch()
			what, title := "a line", ""
			if l := d.m.top(); l != nil {
				what, title = fmt.Sprintf("%T", l.Layer), strings.Split(l.Overlay(d.m.frame.styles).Title, " · ")[0]
			} else if d.m.input == nil {
				continue
			}
			on[what]++
			before := d.look()
			d.press("ctrl+s").sees("picture: ", ".svg", title).seesNot("write picture")
			file := "podstep-" + d.now.Format("20060102-150405") + ".svg"
			text, err := os.ReadFile(file)
			if err != nil || !strings.Contains(string(text), html.EscapeString(title)) {
				t.Errorf("%s, %s, %s: %q is not in the picture: %v", name, a.id, what, title, err)
			}
			d.press("ctrl+s")
			if again, _ := os.ReadFile("podstep-" + d.now.Format("20060102-150405") + ".svg"); strings.Contains(string(again), "picture: ") {
				t.Errorf("%s, %s: the notice of the picture is in the next one", name, a.id)
			}
			d.m.shownNotice = nil
			d.m.frame.touch()
			if now := d.look(); now != before {
				t.Errorf("%s, %s: the screen was\n%s\nand is\n%s", name, a.id, before, now)
			}
		}
	}
	for _, l := range []string{"a line", "*ask.Dialog", "*ask.Picker", "*ask.Page", "*compare.Page", "*about.Page", "*stack.Page", "*tui.leaving", "*tui.breakForm"} {
		if on[l] == 0 {
			t.Errorf("of %s no picture was taken: %v", l, on)
		}
	}
}

// TestLeaveWithFrame: Q leaves the last picture in the terminal. q does not, and neither does a Q that is taken
// back.
func TestLeaveWithFrame(t *testing.T) {
	d := started(t)
	var out strings.Builder
	d.press("q")
	d.m.printLast(&out)
	if out.Len() != 0 {
		t.Errorf("q leaves %q", out.String())
	}
	d.m.opts.NoColour = true
	d.press("Q")
	d.m.printLast(&out)
	if s := out.String(); !strings.Contains(s, "default/web") || strings.Contains(s, "\x1b[38") || strings.Count(s, "\n") != 36 {
		t.Errorf("Q leaves\n%s", s)
	}
	d.m.last = ""
	d.press("H", "right", "enter").poll()
	d.press("Q").sees("End podstep?").press("esc")
	if d.m.last != "" {
		t.Error("who stays leaves nothing")
	}
}

// TestSmallFooters: if only one pane is seen, the footer says how to come to another.
func TestSmallFooters(t *testing.T) {
	d := started(t)
	for _, size := range [][2]int{{60, 16}, {40, 10}} {
		d.send(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
		d.m.state.SetFocus(screen.PanePods)
		d.sees("Tab Pipeline", "? help").press("tab").sees("Tab step").press("tab").sees("Tab pods")
	}
	d.send(tea.WindowSizeMsg{Width: 200, Height: 50})
	d.seesNot("Tab pods")
}

// TestBookmarkOfAnotherPod: a bookmark at an event leads to the event's pod. The list then has that pod's events.
func TestBookmarkOfAnotherPod(t *testing.T) {
	c := newBusyCluster(t, Options{})
	c.m.state.SelectPodNamed("default", "web-1")
	c.press("e", "G", "'").sees("bookmark set")
	c.m.state.SelectPodNamed("default", "web-2")
	c.press(";").sees("bookmark 1 of 1", "default/web-1")
	e := c.m.screen().Events()
	if pod, _ := c.m.selected(); pod.Name != "web-1" || e.Cursor < 0 || !e.Rows[e.Cursor].Marked {
		t.Errorf("the bookmark leads to %v, row %d", pod, e.Cursor)
	}
	c.press("ctrl+f").write("sync.pod").sees(`"sync.pod" 1 of 1`)
}

// opened is a screen on a recording, which remembers in the directory state.
func opened(t *testing.T, recording, state string) *desk {
	t.Helper()
	info, batches, err := tracetest.Read(recording)
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld()
	w.file = recording
	d := newDesk(t, w, Options{StateFile: filepath.Join(state, "state.json")})
	d.deliver(session.News{Info: info, Batches: batches, CaughtUp: true})
	return d
}

// keptFiles returns the files of bookmarks.
func keptFiles(t *testing.T, state string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(state, "bookmarks", "*"))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestKeptBookmarks: when a recording or a copy of it is opened again, its bookmarks are there, at the same rows and
// events. Another recording has none of them. If all are taken away, no file is left. The recording itself is not
// changed.
func TestKeptBookmarks(t *testing.T) {
	const lab, other = "state/testdata/lab.podstep", "../agent/trace/testdata/node.podstep"
	state := t.TempDir()
	before, err := os.ReadFile(lab)
	if err != nil {
		t.Fatal(err)
	}
	d := opened(t, lab, state).seesNot("bookmarks:")
	d.m.state.SelectPodNamed("default", "web")
	d.press("p", "g", "j", "j", "'").sees("bookmark set; ; goes")
	here := func(d *desk) string {
		if s := d.m.screen().Story(); s != nil {
			return s.Pod.Name + " " + s.Rows[s.Cursor].Label
		}
		e := d.m.screen().Events()
		return "event " + strconv.Itoa(e.Rows[e.Cursor].Pos)
	}
	want := []string{here(d)}
	d.press("e", "G", "'")
	want = append(want, here(d))

	copied := filepath.Join(t.TempDir(), "copy.podstep")
	if err := os.WriteFile(copied, before, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{lab, copied} {
		again := opened(t, path, state).sees("bookmarks: 2; ; goes to the next")
		again.press("0") // a moment before the events of the bookmarks
		for i, k := range []string{"bookmark 1 of 2", "bookmark 2 of 2"} {
			if again.press(";").sees(k); here(again) != want[i] {
				t.Errorf("%s: %s leads to %q, want %q", path, k, here(again), want[i])
			}
		}
	}
	opened(t, other, state).seesNot("bookmarks:")

	again := opened(t, lab, state).press(";", "'", ";", "'")
	again.sees("taken away")
	if files := keptFiles(t, state); len(files) != 0 {
		t.Errorf("%q is left of no bookmark", files)
	}
	if after, err := os.ReadFile(lab); err != nil || string(after) != string(before) {
		t.Errorf("the recording was changed, %v", err)
	}
}

// TestBookmarksNotKept: a file that cannot be read or written is named and left as it is. If there is no place to
// keep bookmarks, the screen says that they end with it.
func TestBookmarksNotKept(t *testing.T) {
	const lab = "state/testdata/lab.podstep"
	state := t.TempDir()
	opened(t, lab, state).press("e", "G", "'")
	files := keptFiles(t, state)
	if len(files) != 1 {
		t.Fatalf("kept: %q", files)
	}
	for _, text := range []string{"no JSON", `{"bookmarks": 7}`} {
		if err := os.WriteFile(files[0], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		d := opened(t, lab, state).sees("the bookmarks of this recording cannot be read")
		d.press("esc", "e", "G", "'").sees("bookmark set until podstep ends")
		if got, _ := os.ReadFile(files[0]); string(got) != text {
			t.Errorf("the file is now %q", got)
		}
	}
	missing := `{"bookmarks": [{"seq": 999999999}]}`
	if err := os.WriteFile(files[0], []byte(missing), 0o600); err != nil {
		t.Fatal(err)
	}
	opened(t, lab, state).sees("bookmarks: 0; of 1 more this file does not have the events").press("e", "G", "'")
	if got, _ := os.ReadFile(files[0]); !strings.Contains(string(got), "999999999") || strings.Count(string(got), "seq") != 2 {
		t.Errorf("a bookmark of another part of the recording is lost: %s", got)
	}

	blocked := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(blocked, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	opened(t, lab, filepath.Join(t.TempDir(), "new")).press("e", "G", "'").seesNot("cannot be read").seesNot("keep the bookmarks")
	opened(t, lab, blocked).sees("the bookmarks of this recording cannot be read")
	started(t).press("e", "G", "'").sees("bookmark set until podstep ends")
}

// TestRecordedBookmarks: bookmarks that are set on a live screen are there when its recording is opened.
func TestRecordedBookmarks(t *testing.T) {
	state, path := t.TempDir(), filepath.Join(t.TempDir(), "x.podstep")
	w := newWorld()
	w.records = []*agentpb.Batch{w.creation(web)}
	d := newDesk(t, w, Options{StateFile: filepath.Join(state, "state.json")}).live(w.records...)
	d.m.offered = true
	d.m.state.SelectPodNamed("default", "web")
	d.press("p", "g", "j", "j", "'").sees("bookmark set until podstep ends").press("e", "G", "'")
	cmd := d.m.startRecord(path)
	d.run(cmd)
	d.sees("events recorded to")
	if len(keptFiles(t, state)) != 1 {
		t.Fatalf("kept: %q", keptFiles(t, state))
	}
	again := opened(t, path, state).sees("bookmarks: 2")
	again.press("g", "0", ";").sees("bookmark 1 of 2")
	if st := again.m.screen().Story(); st == nil || !st.Rows[st.Cursor].Marked {
		t.Error("the first bookmark does not lead to its row")
	}
	again.press(";").sees("bookmark 2 of 2")
	if e := again.m.screen().Events(); e == nil || !e.Rows[e.Cursor].Marked {
		t.Error("the second bookmark does not lead to its event")
	}
}
