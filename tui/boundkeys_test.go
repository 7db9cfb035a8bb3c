package tui

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/ask"
	"github.com/podstep/podstep/tui/session"
	"github.com/podstep/podstep/tui/settings"
)

// notAsKeys are keys whose names have another meaning in a sentence.
var notAsKeys = []string{"a", "A", "I", "End", "Delete", "/", "-", ":", ".", ",", "0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}

// usualKeys returns the names of the keys that actions have unless a person gives them others.
func usualKeys() map[string]string {
	names := map[string]string{}
	for _, a := range actions {
		for _, k := range a.keys {
			if name := keyName(k); k != "ctrl+c" && !slices.Contains(notAsKeys, name) {
				names[name] = a.id
			}
		}
	}
	return names
}

// keysIn returns the usual keys that a text names, each as a word of its own.
func keysIn(text string, usual map[string]string) (found []string) {
	for _, w := range strings.FieldsFunc(strings.TrimLeft(text, ";"), func(r rune) bool {
		return unicode.IsSpace(r) || unicode.Is(unicode.Han, r) || strings.ContainsRune("，。；：（）“”\"", r)
	}) {
		if len(w) > 1 {
			w = strings.Trim(w, ".,;:()?`'")
		}
		if id, is := usual[w]; is {
			found = append(found, w+" ("+id+")")
		}
	}
	return found
}

func TestKeysIn(t *testing.T) {
	usual := usualKeys()
	for text, want := range map[string]int{
		"it is not held; H holds it": 1, "没有停住；按 H 停住它们，Esc 取消标记": 2, "bookmark set; ; goes on": 1, "press `m`.": 1,
		"{key:hold.pod} holds it": 0, "Hold the pod (once); all": 0, "End podstep?": 0,
	} {
		if got := keysIn(text, usual); len(got) != want {
			t.Errorf("%q names %q, want %d keys", text, got, want)
		}
	}
}

// ofNoAction are texts that name keys of a line that is typed, of a page, or of the terminal. These keys belong to
// no action, and a person cannot change them.
var ofNoAction = []string{
	"y ends, Enter or n stays. Ctrl+C ends at once.", "y 退出，Enter 或 n 留下。再按 Ctrl+C 立即退出。",
	"name a step; Tab completes", "请输入步骤名；按 Tab 补全",
	"there is no step %q; Tab completes", "没有步骤 %q；按 Tab 补全",
	"a step or a pattern, such as cri.*; Tab completes. With Delve also FUNCTION or FILE:LINE", "步骤或模式，例如 cri.*；按 Tab 补全。有 Delve 时也可写函数名或 文件:行号",
	"%s has no value %q; Tab completes", "%s 没有值 %q；按 Tab 补全",
	"keys: %s: %q is not a key; write it like s, S, ctrl+s, f2, enter", "keys：%s：%q 不是按键；请写成 s、S、ctrl+s、f2、enter 这样",
}

// TestTextsNameNoUsualKey: no text of the screen spells out the key of an action. A text that names a key has it
// from the table.
func TestTextsNameNoUsualKey(t *testing.T) {
	usual, texts, places := usualKeys(), 0, map[string]int{}
	err := filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, lit := range sentencesIn(f) {
			text, _ := strconv.Unquote(lit.Value)
			texts++
			for _, place := range keyPlace.FindAllString(text, -1) {
				places[place]++
			}
			if found := keysIn(text, usual); len(found) > 0 && !slices.Contains(ofNoAction, text) {
				t.Errorf("%s: %q names %q; write {key:ACTION}", set.Position(lit.Pos()), text, found)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if texts < 500 || len(places) < 10 {
		t.Errorf("%d texts were read, and %d actions named", texts, len(places))
	}
	for place, n := range places {
		if got := named(actions, place, keyName); got == place {
			t.Errorf("there is no action for %s", place)
		}
		if n%2 != 0 {
			t.Errorf("%s is named in one language only", place)
		}
	}
}

// sentencesIn returns the texts for people in a file: the arguments of functions that make such texts.
func sentencesIn(f *ast.File) (out []*ast.BasicLit) {
	ast.Inspect(f, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		sel, ok := call.Fun.(*ast.SelectorExpr)
		if !ok || !slices.Contains([]string{"Text", "New", "Errorf"}, sel.Sel.Name) {
			return true
		}
		for _, arg := range call.Args {
			ast.Inspect(arg, func(n ast.Node) bool {
				if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
					out = append(out, lit)
				}
				return true
			})
		}
		return true
	})
	return out
}

// otherKeys returns settings that give every action a key that no action had. now has the key of each action, as a
// terminal reports it.
func otherKeys(t *testing.T) (file *settings.File, now map[string]string) {
	t.Helper()
	var text strings.Builder
	text.WriteString("keys:\n")
	now = map[string]string{}
	for i, a := range actions {
		if a.id == "leave.interrupt" {
			continue
		}
		now[a.id] = string(rune('Ա' + i)) // letters that are the key of no action
		fmt.Fprintf(&text, "  %s: %q\n", a.id, now[a.id])
	}
	now["hold.pod"] = "%" // a character that formats use, too
	path := filepath.Join(t.TempDir(), "config.yaml")
	out := strings.Replace(text.String(), fmt.Sprintf("hold.pod: %q", string(rune('Ա'+slices.IndexFunc(actions, func(a action) bool { return a.id == "hold.pod" })))), `hold.pod: "%"`, 1)
	if err := os.WriteFile(path, []byte(out), 0o600); err != nil {
		t.Fatal(err)
	}
	file = settings.Load(path)
	if wrong := file.Problems(words.English); len(wrong) > 0 {
		t.Fatal(wrong)
	}
	return file, now
}

// TestOtherKeysAreNamed: if every action has another key, nothing on the screen names a usual key, in any state of
// the screen and after any action.
func TestOtherKeysAreNamed(t *testing.T) {
	file, now := otherKeys(t)
	t.Chdir(t.TempDir()) // for pictures
	states := map[string]func(*desk){
		"started":  func(d *desk) { d.live(d.w.creation(web)) },
		"no pod":   func(d *desk) { d.live() },
		"no agent": func(d *desk) { d.deliver(session.News{Batches: []*agentpb.Batch{d.w.creation(web)}}) },
		"held": func(d *desk) {
			d.live(d.w.creation(web)).press(now["hold.pod"], "right", "enter")
		},
		"marked":   func(d *desk) { d.live(d.w.creation(web)).press(now["hold.mark"]) },
		"bookmark": func(d *desk) { d.live(d.w.creation(web)).press(now["move.pane"], now["place.mark"]) },
		"waiting": func(d *desk) {
			d.live(d.w.creation(web)).press(now["hold.pod"], "right", "enter")
			d.park = true
			d.press(now["step.cri"])
		},
		"walk begins": func(d *desk) { d.live(); d.run(d.m.startWalk(shortWalk())) },
		"walk goes":   func(d *desk) { d.live(); d.run(d.m.startWalk(shortWalk())); d.press(now["tour.next"]) },
		"offered":     func(d *desk) { d.m.offered = false; d.live() },
		"replay": func(d *desk) {
			d.deliver(session.News{Info: d.w.info, Batches: []*agentpb.Batch{d.w.creation(web)}, CaughtUp: true})
		},
	}
	for _, lang := range []words.Lang{words.English, words.Chinese} {
		for name, reach := range states {
			for i, a := range ofOneNode(actions) {
				id := a.id
				if strings.HasPrefix(id, "leave.") && id != "leave.out" || id == "look.record" {
					continue
				}
				w := newWorld()
				if name == "replay" {
					w.file = "x.podstep"
				}
				d := newDesk(t, w, Options{Settings: file, Lang: lang})
				d.m.offered = true
				reach(d)
				namesNoUsualKey(t, d, name)
				d.run(d.m.run(&d.m.actions[i]))
				namesNoUsualKey(t, d, name+", then "+id)
			}
		}
	}
}

// namesNoUsualKey checks all parts of a screen that may name keys.
func namesNoUsualKey(t *testing.T, d *desk, when string) {
	t.Helper()
	d.m.frame.touch()
	usual := usualKeys()
	look := func(what, text string) {
		if found := keysIn(text, usual); len(found) > 0 || strings.Contains(text, "{key:") || strings.Contains(text, "%!") {
			t.Errorf("%s: %s names %q: %q", when, what, found, text)
		}
	}
	if strings.Contains(d.look(), "{key:") {
		t.Errorf("%s: an action has no key:\n%s", when, d.look())
	}
	s := d.m.screen()
	for _, h := range s.Hints {
		look("the footer", h.Key)
		look("the footer", h.Off)
	}
	if s.Notice != nil {
		look("the notice", s.Notice.Text)
	}
	if c := s.Tour; c != nil {
		look("the card", c.Wait)
	}
	for i := range d.m.actions {
		look("a title", d.m.text(d.m.actions[i].title))
		look("a reason", d.m.offReason(&d.m.actions[i]))
	}
	if l := d.m.top(); l != nil {
		if q, is := l.Layer.(*ask.Dialog); is {
			look("the question", strings.Join(q.Text, "\n"))
		}
	}
}

// TestOtherKeyIsNamed: the screen names the key that the action really has.
func TestOtherKeyIsNamed(t *testing.T) {
	file, now := otherKeys(t)
	d := newDesk(t, newWorld(), Options{Settings: file})
	d.m.offered = true
	d.live(d.w.creation(web)).press("ж").sees("ж does nothing here; "+now["screen.help"]+" lists the keys", now["screen.help"]+" help")
	d.press(now["step.into"]).sees("is not held; % holds it")
	if got, want := d.m.textf(words.Text("%s; {key:hold.pod} of {key:step.into}", ""), "{key:leave.out}"), "{key:leave.out}; % of "+now["step.into"]; got != want {
		t.Errorf("with values: %q, want %q", got, want)
	}
	d.run(d.m.startWalk(shortWalk()))
	d.m.frame.touch()
	d.sees(now["tour.next"] + " begins · " + now["tour.end"] + " ends the walk")
	if doc := string(KeysDoc()); strings.Contains(doc, "{key:") || !strings.Contains(doc, "as q does") {
		t.Error("docs/keys.md does not name the usual keys")
	}
}
