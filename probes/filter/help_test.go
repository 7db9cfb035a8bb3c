package filter

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestDescribe: every form in the help can be parsed, and is there in both languages.
func TestDescribe(t *testing.T) {
	en, zh := Describe("en"), Describe("zh")
	if len(en) != len(zh) || len(en) != len(grammar)+len(keys) {
		t.Fatalf("%d and %d lines", len(en), len(zh))
	}
	for i, l := range en {
		if l.Text == "" || zh[i].Text == "" || l.Text == zh[i].Text || zh[i].Form != l.Form {
			t.Errorf("%+v, %+v", l, zh[i])
		}
	}
	for _, k := range keys {
		if _, err := Parse(k.form); err != nil {
			t.Errorf("%s: %v", k.form, err)
		}
	}
}

// TestPage: the page on trace files names all keys, and its examples can be parsed.
func TestPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/trace.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), "Keys are `"+keyNames()+"`") {
		t.Errorf("docs/trace.md does not say that keys are %s", keyNames())
	}
	_, table, _ := strings.Cut(string(page), "| filter | selects |")
	table, _, _ = strings.Cut(table, "\n\n")
	examples := regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(strings.ReplaceAll(table, `\|`, "|"), -1)
	for _, e := range examples {
		if _, err := Parse(e[1]); err != nil && e[1] != "|" && e[1] != "!" && e[1] != "not" && e[1] != "*" && e[1] != "?" {
			t.Errorf("%s: %v", e[1], err)
		}
	}
	if len(examples) < 10 {
		t.Errorf("only %d examples", len(examples))
	}
}

func TestCompletions(t *testing.T) {
	known := func(key string) []string {
		return map[string][]string{"pod": {"web-1", "db"}, fieldPrefix: {"image"}, "field.image": {"busybox", "a b"}}[key]
	}
	for typed, want := range map[string]string{
		"st":                  "step=|stage=",
		"err -ki":             "err -kind=",
		"er":                  "error=|err",
		"kind=e":              "kind=enter|kind=exit",
		"kind!=ho":            "kind!=hold",
		"(stage=sync":         "(stage=syncloop|(stage=syncpod",
		"a|slo":               "a|slow>",
		"x or pod~w":          "x or pod~web-1",
		`pod="D`:              "pod=db",
		"field.i":             "field.image~",
		"field.image~":        `field.image~busybox|field.image~"a b"`,
		"goroutine=wor":       "goroutine=worker",
		`error~"kind=e`:       "",
		"nosuch=":             "",
		"slow=":               "",
		"step=sync.volumes":   "step=sync.volumes",
		"err stage=imag":      "err stage=image",
		"step~cri.runpodsan":  "step~cri.RunPodSandbox",
		"-(step=sync.volumes": "-(step=sync.volumes",
	} {
		var got []string
		for _, c := range Completions(typed, known) {
			got = append(got, c.Text)
		}
		if s := strings.Join(got, "|"); s != want {
			t.Errorf("%s completes to %s, want %s", typed, s, want)
		}
	}
	if all := Completions("", nil); len(all) != len(keys)+1 || !slices.ContainsFunc(all, func(c Completion) bool { return c.Word == "kind" && c.About.Zh != "" }) {
		t.Errorf("at the start there is %v", all)
	}
}
