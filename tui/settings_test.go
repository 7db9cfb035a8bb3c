package tui

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/podstep/podstep/tui/screen"
	"github.com/podstep/podstep/tui/settings"
	"github.com/podstep/podstep/tui/view"
)

// settled is a desk with a file of settings.
func settled(t *testing.T, text string) (*desk, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	o := Options{Settings: settings.Load(path)}
	o.Adapt(Terminal{In: true, Out: true, Getenv: func(string) string { return "" }})
	w := newWorld()
	d := newDesk(t, w, o)
	d.m.offered = true
	return d.live(w.creation(web)), path
}

func TestSettings(t *testing.T) {
	d, _ := settled(t, "theme: terminal\nlanguage: zh\nsort: newest\ncolumns: [seen]\n")
	d.sees("最新的在前", "► web ")
	if d.m.frame.options.Theme != view.Terminal {
		t.Errorf("the theme is %v", d.m.frame.options.Theme)
	}
	if r := d.m.screen().Pods; r.Sort != screen.SortNewest || len(r.Columns) != 1 {
		t.Errorf("the list is %+v", r)
	}
}

// TestSettingsKept: a choice on the screen is in force the next time, and nothing else in the file changes.
func TestSettingsKept(t *testing.T) {
	d, path := settled(t, "# by hand\nlanguage: en\n")
	d.press("A").sees("by name")
	d.press("ctrl+t").sees("theme:")
	d.press("I").sees("its namespace").write("restarts").press("enter").sees("columns: namespace, step, restarts")
	d.press("L")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"# by hand\n", "language: zh\n", "sort: name\n", "theme: light\n", "columns: [namespace, step, restarts]\n"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
}

// TestSettingsKeys: a key that a person gave an action runs the action, and its usual key no longer does. A key that
// cannot be given is named, and the usual keys stay.
func TestSettingsKeys(t *testing.T) {
	d, _ := settled(t, "keys:\n  look.events: [E, f5]\n  look.timeline: e\n")
	if s := d.m.shownNotice; s != nil {
		t.Fatal(s.Text)
	}
	d.press("E")
	if d.m.main() != screen.MainEvents {
		t.Errorf("E shows %q", d.m.main())
	}
	d.press("e")
	if d.m.main() != screen.MainTimeline {
		t.Errorf("e shows %q", d.m.main())
	}
	d.press("t").sees("does nothing here")
	d.press("?").write("f5").sees("E F5").press("esc")

	d, path := settled(t, "keys:\n  look.nothing: x\n  look.events: t\n  leave.interrupt: q\n")
	d.sees(path+":2", "look.nothing", "and 2 more", "have no effect",
		":3: keys: look.events: t is the key of", ":4: keys: leave.interrupt")
	d.press("esc").press("e")
	if d.m.main() != screen.MainEvents {
		t.Errorf("e shows %q", d.m.main())
	}
}

// TestBadSettings: podstep names a file that makes no sense, starts all the same, and writes nothing into the file.
func TestBadSettings(t *testing.T) {
	d, path := settled(t, "theme: [\n")
	d.sees(path, "line 1", "have no effect", "default/web")
	d.press("esc", "A").sees("keep the choice", "cannot be read as settings")
	if text, _ := os.ReadFile(path); string(text) != "theme: [\n" {
		t.Errorf("the file is %q", text)
	}
}

// TestFlagsBeforeSettings: the command line counts more than the settings.
func TestFlagsBeforeSettings(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(path, []byte("theme: light\nlanguage: zh\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	o := Options{Settings: settings.Load(path), Theme: "auto", Lang: "en"}
	o.Adapt(Terminal{In: true, Out: true, Getenv: func(string) string { return "" }})
	if o.Theme != "auto" || o.Lang != "en" {
		t.Errorf("theme %s, language %s", o.Theme, o.Lang)
	}
}
