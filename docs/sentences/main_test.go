package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestPageIsUpToDate(t *testing.T) {
	all, err := collect("../..")
	if err != nil {
		t.Fatal(err)
	}
	is, err := os.ReadFile("../sentences.md")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(is, page(all)) {
		t.Error("docs/sentences.md is out of date: run make generate")
	}
}

// TestBothLanguages: each text has both languages, but for the errors of the command
// line.
func TestBothLanguages(t *testing.T) {
	all, err := collect("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		if s.zh == "" && !strings.HasPrefix(s.place, commands) {
			t.Errorf("%s: %q has no Chinese text", s.place, s.en)
		}
	}
}

// TestCollect: each form of a text is found, and what is no text of ours is not.
func TestCollect(t *testing.T) {
	root := t.TempDir()
	for file, text := range map[string]string{
		"words/words.go": `package words
func Text(en, zh string) T { return T{En: en, Zh: zh} }
func reasoned(code, en, zh string) T { return Text(en, zh) }
var declared = reasoned("code", "a reason", "原因")`,
		"screen/a.go": `package screen
const head = "a constant"
var all = map[string]T{"x": {En: "in a map", Zh: "映射"}, "y": {En: head, Zh: head}}
func f(n string) { words.Text("a call, "+"in two", "调用"); words.Text("with "+n, "带 "+n); words.Text(n, n) }`,
		"screen/a_test.go":        `package screen; var t = T{En: "of a test", Zh: "测试"}`,
		"screen/testdata/b.yaml":  "{en: of a test, zh: 测试}",
		"screen/texts.yaml":       "- {en: in YAML, zh: 中文}\n- {en: in YAML, zh: 中文}\n- {en: alone}\n",
		"cmd/podstep/main.go":     `package main; var err, other = errors.New("an error"), fmt.Errorf("read %s: %w", x, y); func f() { usagef("--x %q: no such y", x) }`,
		"cmd/podstep-lab/main.go": `package main; var err = errors.New("of another program")`,
	} {
		path := filepath.Join(root, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := collect(root)
	if err != nil {
		t.Fatal(err)
	}
	want := []sentence{
		{"cmd/podstep", "an error", ""},
		{"cmd/podstep", "read %s: %w", ""},
		{"cmd/podstep", "--x %q: no such y", ""},
		{"screen", "in a map", "映射"},
		{"screen", "a constant", "a constant"},
		{"screen", "a call, in two", "调用"},
		{"screen", "with …", "带 …"},
		{"screen", "in YAML", "中文"},
		{"words", "a reason", "原因"},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestCell(t *testing.T) {
	for text, want := range map[string]string{
		"a | b": `a \| b`, " (%s)": "“ (%s)”", "one\ntwo": "one⏎two", "<pod>": "&lt;pod>",
	} {
		if got := cell(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

// TestChineseIsSpaced: in Chinese a foreign word stands between blanks, and
// punctuation is Chinese.
func TestChineseIsSpaced(t *testing.T) {
	bad := regexp.MustCompile(`.{0,6}(\p{Han}[A-Za-z]|[^%][A-Za-z]\p{Han}|\p{Han}[,;:!?()] |[，。；：！？（）] \S).{0,6}`)
	all, err := collect("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		if found := bad.FindString(s.zh); found != "" {
			t.Errorf("%s: %q", s.place, found)
		}
	}
}
