package settings

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/podstep/podstep/agent/reason"
	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/screen"
)

// order is the order of the settings in problems and in a new file.
var (
	languages = []string{"en", "zh"}
	order     = []string{Theme, Language, Sort, Columns, keys}
)

// allowed returns the values that a setting may have; nil if they are not checked here.
func allowed(name string) (out []string) {
	switch name {
	case Language:
		return languages
	case Sort:
		for _, s := range screen.PodSorts {
			out = append(out, string(s))
		}
	case Columns:
		for _, c := range screen.PodColumns {
			out = append(out, string(c))
		}
	case Theme:
		return screen.ThemeNames
	}
	return out
}

// parse reads the text of a file. It returns an error if the text is no file of settings.
func (f *File) parse(text []byte) error {
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return err
	}
	if len(doc.Content) == 0 {
		return nil // empty, or comments alone
	}
	top := doc.Content[0]
	if top.Kind != yaml.MappingNode {
		return reason.Errorf("line %d: not settings: write each as \"name: value\"", "第 %d 行：不是设置：请写成 \"name: value\"", top.Line)
	}
	again := func(name *yaml.Node) {
		f.problem(name.Line, words.Text("%s is set a second time", "%s 设置了两次"), name.Value)
	}
	for name, value := range uniqueFields(top, again) {
		switch name.Value {
		case Theme, Language, Sort:
			f.readOne(name.Value, value)
		case Columns:
			f.readSeveral(name.Value, value)
		case keys:
			f.bindings(value)
		default:
			f.problem(name.Line, words.Text("there is no setting %q; there are %s", "没有 %q 这项设置；可用的有 %s"), name.Value, strings.Join(order, ", "))
		}
	}
	return nil
}

// uniqueFields returns the names and values of a mapping, in order. If a name is there several times, the first one
// counts, and again is called with the others.
func uniqueFields(mapping *yaml.Node, again func(name *yaml.Node)) iter.Seq2[*yaml.Node, *yaml.Node] {
	return func(yield func(name, value *yaml.Node) bool) {
		seen := map[string]bool{}
		for i := 0; i+1 < len(mapping.Content); i += 2 {
			name := mapping.Content[i]
			if seen[name.Value] {
				again(name)
				continue
			}
			seen[name.Value] = true
			if !yield(name, mapping.Content[i+1]) {
				return
			}
		}
	}
}

func (f *File) readOne(name string, v *yaml.Node) {
	if v.Kind != yaml.ScalarNode || !slices.Contains(allowed(name), v.Value) {
		f.problem(v.Line, words.Text("%s: %q is not one of %s", "%s：%q 不是 %s 之一"), name, v.Value, strings.Join(allowed(name), ", "))
		return
	}
	f.values[name] = v.Value
}

func (f *File) readSeveral(name string, v *yaml.Node) {
	list := []string{}
	for _, item := range items(v) {
		if !slices.Contains(allowed(name), item.Value) {
			f.problem(item.Line, words.Text("%s: %q is not one of %s", "%s：%q 不是 %s 之一"), name, item.Value, strings.Join(allowed(name), ", "))
			continue
		}
		list = append(list, item.Value)
	}
	f.lists[name] = list
}

// items returns the values of a list; a single value counts as a list of one.
func items(v *yaml.Node) []*yaml.Node {
	if v.Kind == yaml.SequenceNode {
		return v.Content
	}
	return []*yaml.Node{v}
}

// bindings reads the keys of actions.
func (f *File) bindings(v *yaml.Node) {
	if v.Kind != yaml.MappingNode {
		f.problem(v.Line, words.Text("keys: write each as \"action: key\"", "keys：请写成 \"action: key\""))
		return
	}
	again := func(name *yaml.Node) {
		f.problem(name.Line, words.Text("keys: %s is set a second time", "keys：%s 设置了两次"), name.Value)
	}
	for name, value := range uniqueFields(v, again) {
		k := Key{Action: name.Value, Line: name.Line}
		for _, item := range items(value) {
			key, ok := keyOf(item.Value)
			if item.Kind != yaml.ScalarNode || !ok {
				f.problem(item.Line, words.Text("keys: %s: %q is not a key; write it like s, S, ctrl+s, f2, enter", "keys：%s：%q 不是按键；请写成 s、S、ctrl+s、f2、enter 这样"), name.Value, item.Value)
				continue
			}
			k.Keys = append(k.Keys, key)
		}
		if len(k.Keys) > 0 {
			f.keys = append(f.keys, k)
		}
	}
}

// named are the keys that have a name instead of a character.
var named = []string{
	"up", "down", "left", "right", "home", "end", "pgup", "pgdown", "enter", "tab", "esc", "space", "backspace", "delete", "insert",
	"f1", "f2", "f3", "f4", "f5", "f6", "f7", "f8", "f9", "f10", "f11", "f12",
}

// keyOf returns a key as a terminal reports it. People write Ctrl+S, PgDn, Space.
func keyOf(s string) (string, bool) {
	mods, key := "", s
	for {
		mod, rest, ok := strings.Cut(key, "+")
		mod = strings.ToLower(mod)
		if !ok || rest == "" || mod != "ctrl" && mod != "alt" && mod != "shift" {
			break
		}
		mods, key = mods+mod+"+", rest
	}
	if len([]rune(key)) == 1 && key > " " {
		if strings.Contains(mods, "ctrl+") {
			key = strings.ToLower(key)
		}
		return mods + key, mods != "shift+"
	}
	key = strings.ToLower(key)
	switch key {
	case "pgdn", "pagedown":
		key = "pgdown"
	case "pageup":
		key = "pgup"
	case "escape":
		key = "esc"
	case "return":
		key = "enter"
	case "del":
		key = "delete"
	}
	return mods + key, slices.Contains(named, key)
}

// heading stands at the top of a file that podstep creates.
const heading = "Settings of podstep's screen. docs/settings.md lists them all."

// change sets settings in the file. It replaces the file as a whole, because another podstep may read it. If the
// path is a link, it stays one.
func change(path string, values map[string]any) error {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	text, err := read(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	out, err := edited(text, values)
	if err != nil {
		return err
	}
	return Replace(path, out)
}

// edited returns a text in which only these settings have changed. It changes a setting in its own line, and appends
// a setting that is not set yet.
func edited(text []byte, values map[string]any) ([]byte, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		text = []byte("# " + heading + "\n")
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, err
	}
	var top *yaml.Node
	if len(doc.Content) > 0 {
		top = doc.Content[0]
	}
	lines := strings.SplitAfter(strings.TrimRight(string(text), "\n")+"\n", "\n")
	lines = lines[:len(lines)-1]
	for _, name := range order {
		value, is := values[name]
		if !is {
			continue
		}
		line := name + ": " + inLine(value)
		at, comment, err := placeOf(top, name)
		if err != nil {
			return nil, err
		}
		if at < 0 {
			lines = append(lines, line+"\n")
			continue
		}
		if comment != "" {
			line += " " + comment
		}
		lines[at] = line + "\n"
	}
	out := []byte(strings.Join(lines, ""))
	return out, sameBut(text, out, values)
}

// inLine returns a value as YAML in one line. None of our values needs quotes.
func inLine(value any) string {
	if list, is := value.([]string); is {
		return "[" + strings.Join(list, ", ") + "]"
	}
	return fmt.Sprint(value)
}

// placeOf returns the line of a setting, from 0, and the comment behind it; -1 if it is not set. It refuses a
// setting that has more than one line.
func placeOf(top *yaml.Node, name string) (int, string, error) {
	if top == nil {
		return -1, "", nil
	}
	for i := 0; i+1 < len(top.Content); i += 2 {
		k, v := top.Content[i], top.Content[i+1]
		if k.Value != name {
			continue
		}
		if lastLine(v) != k.Line {
			return 0, "", reason.Errorf("line %d: %s has more lines than one; write it in one, and podstep can change it", "第 %d 行：%s 占了多行；写成一行后 podstep 才能修改它", k.Line, name)
		}
		return k.Line - 1, v.LineComment, nil
	}
	return -1, "", nil
}

// lastLine returns the line of the last value in a node.
func lastLine(n *yaml.Node) int {
	last := n.Line
	for _, c := range n.Content {
		last = max(last, lastLine(c))
	}
	return last
}

// sameBut checks that a change of a text did what it was meant to do: no other setting is lost, whatever the person
// wrote there.
func sameBut(before, after []byte, values map[string]any) error {
	was, is := map[string]any{}, map[string]any{}
	if err := errors.Join(yaml.Unmarshal(before, &was), yaml.Unmarshal(after, &is)); err != nil {
		return err
	}
	for name, value := range values {
		was[name] = value
		if list, ok := value.([]string); ok {
			some := []any{}
			for _, v := range list {
				some = append(some, v)
			}
			was[name] = some
		}
	}
	if !reflect.DeepEqual(was, is) {
		return reason.New("the way in which it is written does not let podstep change it; write each setting in a line of its own", "它的写法让 podstep 无法修改；请让每项设置各占一行")
	}
	return nil
}

// Replace replaces a file as a whole, because another podstep may read it. Only the owner can read a new file, and
// the directories that Replace makes for it.
func Replace(path string, text []byte) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".config")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(text)
	mode := fs.FileMode(0o600)
	if info, serr := os.Stat(path); serr == nil {
		mode = info.Mode().Perm()
	}
	if err = errors.Join(err, f.Chmod(mode), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
