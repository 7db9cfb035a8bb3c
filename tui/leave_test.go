package tui

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/tui/session"
)

// inLab is a desk with one pod, in a lab that ends with the screen.
func inLab(t *testing.T) (d *desk, ended chan struct{}) {
	t.Helper()
	ended = make(chan struct{})
	w := newWorld()
	d = newDesk(t, w, Options{Lab: true, LabEnded: ended})
	d.m.offered = true
	return d.live(w.creation(web)), ended
}

// TestActsEnd: what a person has begun is done before the program ends. What does not end delays that for some seconds at most.
func TestActsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &Model{ctx: t.Context()}
		answers, done := make(chan struct{}), false
		act := m.act("", func(context.Context, session.Control) error {
			<-answers
			done = true
			return nil
		})
		go act()
		time.AfterFunc(time.Second, func() { close(answers) })
		if finishActs(m, nil); !done {
			t.Error("the program ends before what was begun is done")
		}
		m.acts.Add(1)
		defer m.acts.Done()
		began := time.Now()
		if finishActs(m, nil); time.Since(began) != releaseTime {
			t.Errorf("the program ends after %v", time.Since(began))
		}
	})
}

// TestLeaveAsks: q, Ctrl+C and the palette ask when a lab ends or held pods go on,
// and name them. y ends, Enter, Esc and n do not.
func TestLeaveAsks(t *testing.T) {
	ways := map[string]func(*desk){
		"q":           func(d *desk) { d.press("q") },
		"Ctrl+C":      func(d *desk) { d.press("ctrl+c") },
		"the palette": func(d *desk) { d.press(":").write("end podstep and its").press("enter") },
		"Ctrl+C in a dialog": func(d *desk) {
			d.press("b", "ctrl+c")
		},
	}
	for name, ask := range ways {
		t.Run(name, func(t *testing.T) {
			for key, ends := range map[string]bool{"enter": false, "y": true, "ctrl+c": true, "esc": false, "n": false, "q": false} {
				d := started(t)
				d.press("H", "right", "enter").called("hold web")
				ask(d)
				if d.quit {
					t.Fatal("it ended without asking")
				}
				d.sees("End podstep?", "Held pods go on: default/web.")
				d.press(key)
				if d.quit != ends {
					t.Errorf("%s: ended %v, want %v", key, d.quit, ends)
				}
				if !ends {
					d.seesNot("End podstep?")
				}
			}
		})
	}
	d, _ := inLab(t)
	d.press("q").sees("End the lab?", "Node node-1 ends, and 1 pod on it.").press("enter")
	if d.quit {
		t.Error("Stay ended the lab")
	}
	d.press("q", "L") // a key that is no answer
	if d.quit {
		t.Error("any key ends the lab")
	}
	d.press("y")
	if !d.quit {
		t.Error("the lab does not end")
	}
}

// TestLeaveDoesNotAsk: the program ends without a question if nothing is lost: nothing is held, others hold, the lab
// has ended by itself, or a trace file is replayed.
func TestLeaveDoesNotAsk(t *testing.T) {
	others := func(t *testing.T) *desk {
		d := started(t)
		d.w.held(0, "sync.pod")
		d.poll()
		return d
	}
	file := func(t *testing.T) *desk {
		w := newWorld()
		w.file = "x.podstep"
		return newDesk(t, w, Options{})
	}
	ended := func(t *testing.T) *desk {
		d, ended := inLab(t)
		close(ended)
		return d
	}
	for name, make := range map[string]func(*testing.T) *desk{"nothing held": started, "held by others": others, "a file": file, "a lab that has ended": ended} {
		for _, key := range []string{"q", "ctrl+c"} {
			if d := make(t).press(key); !d.quit {
				t.Errorf("%s: %s asks:\n%s", name, key, d.look())
			}
		}
	}
}

// TestLeaveNamesSome: of many held pods the question names some, and counts the rest.
func TestLeaveNamesSome(t *testing.T) {
	c := newBusyCluster(t, Options{})
	for range 5 {
		c.create()
	}
	for _, p := range c.pods {
		c.hold(p)
	}
	c.press("q").sees("Held pods go on: default/web-1,", "and 3 more.")
}

// TestStateFile: the environment says where the file is. Without a place the screen does without the file.
func TestStateFile(t *testing.T) {
	for _, c := range []struct{ state, home, want string }{
		{"/s", "/h", "/s/podstep/state.json"}, {"", "/h", "/h/.local/state/podstep/state.json"},
		{"relative", "/h", "/h/.local/state/podstep/state.json"}, {"", "", ""}, {"", "relative", ""},
	} {
		got := StateFile(func(name string) string { return map[string]string{"XDG_STATE_HOME": c.state, "HOME": c.home}[name] })
		if got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"nothing": "", "broken": "{", "another's": `{"walks":7}`, "large": string(make([]byte, maxState+1))} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if r := recall(path); len(r.Walks) > 0 {
			t.Errorf("%s: %+v", name, r)
		}
	}
	if r := recall(dir); len(r.Walks) > 0 { // no file at all
		t.Errorf("a directory: %+v", r)
	}
}

// TestOfferedOnce: a person who has finished a walk is not offered the first one again, not even in another session.
// If nothing can be remembered, it is offered again.
func TestOfferedOnce(t *testing.T) {
	open := func(path string) *desk {
		w := newWorld()
		return newDesk(t, w, Options{Lab: true, StateFile: path}).live()
	}
	path := filepath.Join(t.TempDir(), "deep", "state.json")
	d := open(path).sees("A first walk?")
	d.m.lastKey = d.now.Add(-time.Minute)
	d.now = d.now.Add(time.Minute)
	d.press("enter")
	d.run(d.m.finishedWalk("creation"))
	d.run(d.m.finishedWalk("deletion"))
	open(path).seesNot("A first walk?")
	if r := recall(path); len(r.Walks) != 2 {
		t.Errorf("%+v", r)
	}
	// The list of walks says which are finished, and begins at the next one.
	d = open(path).press("T").sees("Guided walks · type to search", "finished")
	if n := strings.Count(d.look(), "finished"); n != 2 {
		t.Errorf("%d walks are finished", n)
	}
	d.write("zzz").sees("nothing here matches")
	for _, nowhere := range []string{"", "/proc/none/state.json"} {
		d = open(nowhere).sees("A first walk?")
		d.run(d.m.finishedWalk("creation"))
		open(nowhere).sees("A first walk?")
	}
}

// TestTimesByDefault: a breakpoint of the dialog acts as often as one of the command line, and the dialog says how
// often.
func TestTimesByDefault(t *testing.T) {
	d := started(t)
	d.press("b").sees("0 (every time, every pod)").write("cri.RunPodSandbox")
	d.press("down", "down", "right").sees("0 (once)").press("left", "down", "down", "down", "enter")
	if len(d.w.points) != 1 || d.w.points[0].Spec.Times != agentpb.DefaultTimes {
		t.Errorf("%v", d.w.points)
	}
}

// TestSuspend: Ctrl+Z suspends where nothing is lost by it, and says why not elsewhere.
func TestSuspend(t *testing.T) {
	d := started(t)
	d.press("ctrl+z").sees("does not go into the background here")
	d = newDesk(t, newWorld(), Options{})
	d.m.control = nil
	if _, ok := d.m.suspend()().(tea.SuspendMsg); !ok {
		t.Error("a recording is not suspended")
	}
}
